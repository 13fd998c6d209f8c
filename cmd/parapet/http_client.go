package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"

	"github.com/go-json-experiment/json"
)

func fetchWithToken(ctx context.Context, client *http.Client, address, token string) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, err
	}
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	return readResponse(client, request)
}

// fetchJSON reads a JSON response.
func fetchJSON(ctx context.Context, client *http.Client, address, token string, into any) error {
	body, err := fetchWithToken(ctx, client, address, token)
	if err != nil {
		return err
	}
	return json.Unmarshal(body, into)
}

func readResponse(client *http.Client, request *http.Request) ([]byte, error) {
	answer, err := client.Do(request)
	if err != nil {
		return nil, err
	}
	defer func() { _ = answer.Body.Close() }()
	body, err := io.ReadAll(answer.Body)
	if err == nil && answer.StatusCode != http.StatusOK {
		err = &statusError{answer.StatusCode, string(bytes.TrimSpace(body))}
	}
	return body, err
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
