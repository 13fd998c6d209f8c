package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/go-json-experiment/json"
)

// fetchJSON reads a JSON response.
func fetchJSON(ctx context.Context, client *http.Client, address, token string, into any) error {
	return sendJSON(ctx, client, http.MethodGet, address, token, nil, into)
}

// sendJSON sends a JSON body, if there is one, and reads the JSON response.
func sendJSON(ctx context.Context, client *http.Client, method, address, token string, body []byte, into any) error {
	answer, err := sendRequest(ctx, client, method, address, token, body)
	if err != nil {
		return err
	}
	return json.Unmarshal(answer, into)
}

// sendRequest returns the body of a successful response, or a statusError. It sends no
// token when token is empty.
func sendRequest(ctx context.Context, client *http.Client, method, address, token string, body []byte) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, method, address, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	if len(body) > 0 {
		request.Header.Set("Content-Type", "application/json")
	}
	return doRequest(client, request)
}

// newAPIClient returns a client that follows no redirect: a token is for one server.
func newAPIClient(timeout time.Duration) *http.Client {
	return &http.Client{Timeout: timeout, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

// doRequest returns the body of a successful response, or a statusError.
func doRequest(client *http.Client, request *http.Request) ([]byte, error) {
	answer, err := client.Do(request)
	if err != nil {
		return nil, err
	}
	defer func() { _ = answer.Body.Close() }()
	read, err := io.ReadAll(answer.Body)
	if err == nil && answer.StatusCode/100 != 2 {
		err = &statusError{answer.StatusCode, string(bytes.TrimSpace(read))}
	}
	return read, err
}

// statusError is a response without success.
type statusError struct {
	status int
	body   string
}

func (e *statusError) Error() string { return fmt.Sprintf("%d %s", e.status, e.body) }

// isFinal reports whether a retry cannot succeed.
func (e *statusError) isFinal() bool {
	return e.status/100 == 4 && e.status != http.StatusTooManyRequests && e.status != http.StatusRequestTimeout
}
