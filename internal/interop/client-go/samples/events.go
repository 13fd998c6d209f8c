package main

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// docs: events
func readEvents(after int64) (int64, error) {
	for {
		var page struct {
			Data []struct {
				Sequence int64  `json:"sequence"`
				Type     string `json:"type"`
			} `json:"data"`
		}
		path := fmt.Sprintf("/events?after_sequence=%d&limit=100", after)
		if err := call("GET", path, nil, &page); err != nil || len(page.Data) == 0 {
			return after, err // store it: it is all that a reader must remember
		}
		for _, event := range page.Data {
			fmt.Println(event.Sequence, event.Type)
			after = event.Sequence
		}
	}
}

// docs: end

// docs: webhooks
func isGenuine(secret string, header http.Header, body []byte) bool {
	sent, err := strconv.ParseInt(header.Get("webhook-timestamp"), 10, 64)
	if err != nil || math.Abs(float64(time.Now().Unix()-sent)) > 300 {
		return false
	}
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, "whsec_"))
	if err != nil {
		return false
	}
	mac := hmac.New(sha256.New, key)
	fmt.Fprintf(mac, "%s.%d.%s", header.Get("webhook-id"), sent, body)
	mine := "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
	return slices.ContainsFunc(strings.Fields(header.Get("webhook-signature")), func(one string) bool {
		return hmac.Equal([]byte(mine), []byte(one))
	})
}

func receiveWebhook() error {
	var endpoint struct {
		ID     string `json:"id"`
		Secret string `json:"secret"`
	}
	received := make(chan bool, 1)
	receiver := func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		genuine := err == nil && isGenuine(endpoint.Secret, r.Header, body)
		if !genuine {
			w.WriteHeader(http.StatusBadRequest)
		}
		received <- genuine
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	err = call("POST", "/webhook_endpoints", map[string]any{
		"url":         "http://" + listener.Addr().String() + "/hooks", // https in production
		"event_types": []string{"*"},
	}, &endpoint)
	if err != nil {
		return err
	}
	go http.Serve(listener, http.HandlerFunc(receiver))
	if !<-received { // the first event says that the endpoint is enabled
		return errors.New("the delivery is not genuine")
	}
	return nil
}

// docs: end
