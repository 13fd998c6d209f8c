package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"os"
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
