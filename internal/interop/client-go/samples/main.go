// Command samples is the samples of the documentation in Go: the tasks in order, as one
// program. It needs the standard library only.
package main

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"math"
	"net"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
)

// docs: authenticate
var base, token = os.Getenv("BASE"), ""

// Problem is the body of every error.
type Problem struct {
	Code      string `json:"code"`
	Detail    string `json:"detail"`
	RequestID string `json:"request_id"`
	Retryable bool   `json:"retryable"`
	wait      time.Duration
}

func (p *Problem) Error() string { return p.Code + ": " + p.Detail }

func send(request *http.Request, answer any) error {
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode < 400 {
		return json.NewDecoder(response.Body).Decode(answer)
	}
	problem := &Problem{}
	seconds, _ := strconv.Atoi(response.Header.Get("Retry-After"))
	problem.wait = time.Duration(seconds) * time.Second
	return errors.Join(json.NewDecoder(response.Body).Decode(problem), problem)
}

func call(method, path string, body, answer any, headers ...string) error {
	content, err := json.Marshal(body)
	if err != nil {
		return err
	}
	request, err := http.NewRequest(method, base+"/v1"+path, bytes.NewReader(content))
	if err != nil {
		return err
	}
	request.Header.Set("Authorization", "Bearer "+token)
	request.Header.Set("Content-Type", "application/json")
	for i := 0; i+1 < len(headers); i += 2 {
		request.Header.Set(headers[i], headers[i+1])
	}
	return send(request, answer)
}

func getToken() (string, error) {
	var resource struct {
		Servers []string `json:"authorization_servers"`
	}
	request, _ := http.NewRequest("GET", base+"/.well-known/oauth-protected-resource", nil)
	if err := send(request, &resource); err != nil {
		return "", err
	}
	var issuer struct {
		TokenEndpoint string `json:"token_endpoint"`
	}
	request, _ = http.NewRequest("GET", resource.Servers[0]+"/.well-known/openid-configuration", nil)
	if err := send(request, &issuer); err != nil {
		return "", err
	}
	form := url.Values{"grant_type": {"client_credentials"}}.Encode()
	request, _ = http.NewRequest("POST", issuer.TokenEndpoint, strings.NewReader(form))
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	request.SetBasicAuth(os.Getenv("CLIENT_ID"), os.Getenv("CLIENT_SECRET"))
	var answer struct {
		Token string `json:"access_token"`
	}
	err := send(request, &answer)
	return answer.Token, err
}

// docs: end

// docs: quote

// Money is in minor units: 1250 is 12.50 USD.
type Money struct {
	Amount   int64  `json:"amount"`
	Currency string `json:"currency"`
}

type Quote struct {
	ID        string    `json:"id"`
	ExpiresAt time.Time `json:"expires_at"`
	Price     struct {
		Premium Money `json:"premium"`
	} `json:"price"`
	History []any `json:"history"`
}

func priceCover() (quote Quote, err error) {
	err = call("POST", "/quotes", map[string]any{
		"product": "quake-circle",
		"context": map[string]any{
			"partner":  "acme",
			"location": map[string]any{"latitude": 23.98, "longitude": 121.61},
			"limit":    Money{100_000_00, "USD"},
			"term":     "P365D",
		},
	}, &quote)
	return quote, err
}

// docs: end

// docs: bind
type Policy struct {
	ID          string `json:"id"`
	EffectiveAt string `json:"effective_at"`
	Claims      []struct {
		ID string `json:"id"`
	} `json:"claims"`
}

func bindQuote(quote Quote) (policy Policy, err error) {
	err = call("POST", "/policies", map[string]any{
		"quote_id":     quote.ID,
		"policyholder": map[string]any{"name": "Lin Mei-hua", "country": "TW"},
	}, &policy, "Idempotency-Key", "bind-"+quote.ID)
	return policy, err
}

// docs: end

// docs: payout-method
func recordAccount(policy Policy) error {
	var method struct {
		Status string `json:"status"`
	}
	return call("POST", "/payout_methods", map[string]any{
		"policy_id":   policy.ID,
		"type":        "iban",
		"currency":    "USD",
		"iban":        map[string]any{"iban": "DE89370400440532013000"},
		"beneficiary": map[string]any{"name": "Lin Mei-hua", "country": "TW"},
	}, &method)
}

// docs: end

// docs: rehearse
func rehearse(policy Policy) error {
	var observation struct {
		ID string `json:"id"`
	}
	return call("POST", "/sandbox/observations", map[string]any{
		"source":          "usgs",
		"kind":            "earthquake",
		"stage":           "final",
		"source_event_id": "rehearsal-" + policy.ID,
		"occurred_at":     policy.EffectiveAt,
		"location":        map[string]any{"latitude": 24.17, "longitude": 121.65},
		"measures": map[string]any{
			"magnitude": map[string]any{"value": "6.4", "unit": "mw"},
			"depth":     map[string]any{"value": "10.6", "unit": "km"},
		},
	}, &observation)
}

// docs: end

// docs: claim
type Claim struct {
	ID     string `json:"id"`
	Status string `json:"status"`
	Amount Money  `json:"amount"`
}

func waitForClaim(policy Policy) (claim Claim, err error) {
	for len(policy.Claims) == 0 {
		time.Sleep(time.Second)
		if err := call("GET", "/policies/"+policy.ID, nil, &policy); err != nil {
			return claim, err
		}
	}
	err = call("GET", "/claims/"+policy.Claims[0].ID, nil, &claim)
	return claim, err
}

// docs: end

// docs: payout
type Payout struct {
	Status            string `json:"status"`
	Amount            Money  `json:"amount"`
	ProviderReference string `json:"provider_reference"`
}

func waitForPayout(claim Claim) (Payout, error) {
	for {
		var page struct {
			Data []Payout `json:"data"`
		}
		if err := call("GET", "/claims/"+claim.ID+"/payouts", nil, &page); err != nil {
			return Payout{}, err
		}
		if len(page.Data) > 0 && slices.Contains([]string{"released", "reconciled"}, page.Data[0].Status) {
			return page.Data[0], nil
		}
		time.Sleep(time.Second)
	}
}

// docs: end

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

// docs: errors
func callSafely(path string, body, answer any, key string) error {
	for attempt := range 6 {
		err := call("POST", path, body, answer, "Idempotency-Key", key)
		var problem *Problem
		switch {
		case err == nil, errors.As(err, &problem) && !problem.Retryable:
			return err
		case problem != nil:
			time.Sleep(problem.wait)
		default: // no answer came: the key makes it safe to repeat
			time.Sleep(time.Second << attempt)
		}
	}
	return errors.New("the API does not answer")
}

// docs: end

func main() {
	var err error
	if token, err = getToken(); err != nil {
		log.Fatal(err)
	}
	if err := run(); err != nil {
		log.Fatal(err)
	}
}

func run() error {
	quote, err := priceCover()
	if err != nil {
		return err
	}
	policy, err := bindQuote(quote)
	if err != nil {
		return err
	}
	if err := errors.Join(recordAccount(policy), rehearse(policy)); err != nil {
		return err
	}
	claim, err := waitForClaim(policy)
	if err != nil {
		return err
	}
	payout, err := waitForPayout(claim)
	if err != nil {
		return err
	}
	fmt.Println(claim.Status, payout.Status, payout.Amount, payout.ProviderReference)
	after, err := readEvents(0)
	if err != nil || after < 5 {
		return fmt.Errorf("read the events to %d: %w", after, err)
	}
	if err := receiveWebhook(); err != nil {
		return err
	}
	err = callSafely("/quotes", map[string]any{"product": "quake-circle", "context": map[string]any{"partner": "acme", "term": "1 year"}}, &quote, "quote-4711")
	var problem *Problem
	if !errors.As(err, &problem) || problem.Code != "validation_failed" {
		return fmt.Errorf("a term in words was answered %w", err)
	}
	fmt.Println(problem)
	return nil
}
