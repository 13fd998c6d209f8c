package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"

	"github.com/go-json-experiment/json"
)

func fetchWith(ctx context.Context, client *http.Client, address, token string) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, err
	}
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	return answerOf(client, request)
}

// fetchInto reads an answer that is JSON.
func fetchInto(ctx context.Context, client *http.Client, address, token string, into any) error {
	body, err := fetchWith(ctx, client, address, token)
	if err != nil {
		return err
	}
	return json.Unmarshal(body, into)
}

func answerOf(client *http.Client, request *http.Request) ([]byte, error) {
	answer, err := client.Do(request)
	if err != nil {
		return nil, err
	}
	defer func() { _ = answer.Body.Close() }()
	body, err := io.ReadAll(answer.Body)
	if err == nil && answer.StatusCode != http.StatusOK {
		err = &refusedError{answer.StatusCode, string(bytes.TrimSpace(body))}
	}
	return body, err
}

// refusedError is an answer that is no success.
type refusedError struct {
	status int
	body   string
}

func (e *refusedError) Error() string { return fmt.Sprintf("%d %s", e.status, e.body) }

// final tells whether asking again would not help.
func (e *refusedError) final() bool {
	return e.status/100 == 4 && e.status != http.StatusTooManyRequests && e.status != http.StatusRequestTimeout
}
