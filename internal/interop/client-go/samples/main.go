// Command samples is the samples of the documentation in Go: the tasks in order, as one
// program. It needs the standard library only.
package main

import (
	"errors"
	"fmt"
	"log"
	"slices"
	"time"
)

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
