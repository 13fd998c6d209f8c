// Package partner is the common start of the sample partner programs: the server's
// address, authentication, and a count of passed checks.
package partner

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"time"

	"golang.org/x/oauth2/clientcredentials"
)

// pollInterval is the time between two attempts of WaitUntil.
const pollInterval = 100 * time.Millisecond

// Server is the server's ready line.
type Server struct {
	BaseURL    string `json:"base_url"`
	GraphQLURL string `json:"graphql_url"`
	TokenURL   string `json:"token_url"`
	Clients    []struct {
		Name   string `json:"name"`
		ID     string `json:"client_id"`
		Secret string `json:"client_secret"`
	} `json:"clients"`
}

// ReadServer reads the ready line from the variable that with-parapet sets.
func ReadServer() (Server, error) {
	var ready Server
	if err := json.Unmarshal([]byte(os.Getenv("PARAPET")), &ready); err != nil {
		return ready, fmt.Errorf("the server's ready line: %w", err)
	}
	return ready, nil
}

// Credentials returns the client credentials (RFC 6749) of a client.
func (r Server) Credentials(name string) (*clientcredentials.Config, error) {
	for _, c := range r.Clients {
		if c.Name == name {
			return &clientcredentials.Config{ClientID: c.ID, ClientSecret: c.Secret, TokenURL: r.TokenURL}, nil
		}
	}
	return nil, fmt.Errorf("the server has no client %s", name)
}

// NewHTTPClient returns an HTTP client with a client's token.
func (r Server) NewHTTPClient(ctx context.Context, name string) (*http.Client, error) {
	account, err := r.Credentials(name)
	if err != nil {
		return nil, err
	}
	return account.Client(ctx), nil
}

// Checks counts the passed checks.
type Checks struct{ Passed int }

// Require returns an error with what is wrong unless holds is true.
func (c *Checks) Require(holds bool, wrong string, args ...any) error {
	if !holds {
		return fmt.Errorf(wrong, args...)
	}
	c.Passed++
	return nil
}

// WaitUntil calls ask until it returns true or ctx ends. It counts as one check.
func (c *Checks) WaitUntil(ctx context.Context, what string, ask func() (bool, error)) error {
	for {
		done, err := ask()
		if err != nil {
			return fmt.Errorf("%s: %w", what, err)
		}
		if done {
			c.Passed++
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("waited in vain for %s", what)
		case <-time.After(pollInterval):
		}
	}
}
