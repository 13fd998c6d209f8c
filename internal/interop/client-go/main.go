// Command client-go is a partner's program: quote, bind, claim, payout, and one
// mistake, through a client that oapi-codegen generated from the OpenAPI document.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"net/http"
	"os"
	"time"

	"golang.org/x/oauth2/clientcredentials"

	v1 "parapet/internal/interop/client-go/generated/v1"
)

// patience bounds the whole story; it usually takes two seconds.
const patience = 40 * time.Second

func main() {
	log.SetFlags(0)
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	s, err := newStory(ctx)
	if err == nil {
		err = s.play(ctx)
	}
	if err != nil {
		log.Fatalf("Go client: after %d checks: %v", s.checks, err)
	}
	fmt.Printf("Go client: %d checks passed\n", s.checks)
}

// story is one partner's way to a payout, and how much of it held.
type story struct {
	api    *v1.ClientWithResponses
	checks int
}

// newStory signs in as acme, by RFC 6749's client credentials.
func newStory(ctx context.Context) (*story, error) {
	var ready struct {
		BaseURL  string `json:"base_url"`
		TokenURL string `json:"token_url"`
		Clients  []struct {
			Name   string `json:"name"`
			ID     string `json:"client_id"`
			Secret string `json:"client_secret"`
		} `json:"clients"`
	}
	s := &story{}
	if err := json.Unmarshal([]byte(os.Getenv("PARAPET")), &ready); err != nil {
		return s, fmt.Errorf("the server's ready line: %w", err)
	}
	for _, c := range ready.Clients {
		if c.Name == "acme" {
			account := clientcredentials.Config{ClientID: c.ID, ClientSecret: c.Secret, TokenURL: ready.TokenURL}
			var err error
			s.api, err = v1.NewClientWithResponses(ready.BaseURL+"/v1", v1.WithHTTPClient(account.Client(ctx)))
			return s, err
		}
	}
	return s, errors.New("the server has no client acme")
}

func (s *story) play(ctx context.Context) error {
	quote, err := s.quote(ctx)
	if err != nil {
		return err
	}
	policy, err := s.bind(ctx, quote)
	if err != nil {
		return err
	}
	claimID, err := s.rehearse(ctx, policy)
	if err != nil {
		return err
	}
	if err := s.collect(ctx, policy, claimID); err != nil {
		return err
	}
	if err := s.timeline(ctx, claimID); err != nil {
		return err
	}
	return s.mistake(ctx)
}

func (s *story) quote(ctx context.Context) (*v1.Quote, error) {
	key := "story-quote"
	request := v1.QuoteRequest{Product: "quake-circle", Context: map[string]any{"partner": "acme"}}
	answer, err := s.api.CreateQuoteWithResponse(ctx, &v1.CreateQuoteParams{IdempotencyKey: &key}, request)
	if err := s.answered(answer, err, http.StatusCreated); err != nil {
		return nil, err
	}
	quote := answer.JSON201
	sum := int64(0)
	for _, line := range quote.Price.Lines {
		sum += line.Amount.Amount
	}
	read, err := s.api.GetQuoteWithResponse(ctx, quote.ID, nil)
	return quote, errors.Join(
		s.answered(read, err, http.StatusOK),
		s.check(quote.Status == v1.QuoteStatusPriced, "the quote is %s", quote.Status),
		s.check(sum == quote.Price.Premium.Amount, "the lines sum to %d, the premium is %d", sum, quote.Price.Premium.Amount),
	)
}

func (s *story) bind(ctx context.Context, quote *v1.Quote) (*v1.Policy, error) {
	name, country := "Lin Mei-hua", "TW"
	answer, err := s.api.CreatePolicyWithResponse(ctx, nil, v1.BindRequest{
		QuoteID: quote.ID, Policyholder: &v1.PolicyholderFields{Name: &name, Country: &country},
	})
	if err := s.answered(answer, err, http.StatusCreated); err != nil {
		return nil, err
	}
	policy := answer.JSON201
	return policy, errors.Join(
		s.check(policy.Status == v1.PolicyStatusActive, "the policy is %s", policy.Status),
		s.check(policy.TermsHash == quote.TermsHash, "the policy has other terms than the quote"),
	)
}

// rehearse posts a quake that only acme's policies see, and waits for its claim.
func (s *story) rehearse(ctx context.Context, policy *v1.Policy) (string, error) {
	place := policy.Cover.Place
	if err := s.check(place.Latitude != nil && place.Longitude != nil, "a circle without a centre"); err != nil {
		return "", err
	}
	// A body that is one of two shapes is marshalled here: the generated request
	// type loses its MarshalJSON and would send an empty object.
	body, err := json.Marshal(v1.ObservationInput{
		Source: "usgs", SourceEventID: "story-quake",
		Kind: v1.ObservationInputKindEarthquake, Stage: v1.ObservationInputStageFinal,
		OccurredAt: policy.EffectiveAt.Add(time.Millisecond),
		Location:   &v1.Point{Latitude: *place.Latitude, Longitude: *place.Longitude},
		Measures:   map[string]v1.Measure{"magnitude": {Value: "7.4", Unit: "mw"}},
	})
	if err != nil {
		return "", err
	}
	observed, err := s.api.CreateSandboxObservationsWithBodyWithResponse(ctx, nil, "application/json", bytes.NewReader(body))
	if err := s.answered(observed, err, http.StatusCreated); err != nil {
		return "", err
	}
	var claimID string
	err = s.until(ctx, "a claim", func() (bool, error) {
		answer, err := s.api.GetPolicyWithResponse(ctx, policy.ID, nil)
		if err := expect(answer, err, http.StatusOK); err != nil || len(answer.JSON200.Claims) == 0 {
			return false, err
		}
		claimID = answer.JSON200.Claims[0].ID
		return true, nil
	})
	return claimID, err
}

// collect names an account and waits until what is owed was sent to it.
func (s *story) collect(ctx context.Context, policy *v1.Policy, claimID string) error {
	method, err := s.api.CreatePayoutMethodWithResponse(ctx, nil, v1.PayoutMethodRequest{
		ClaimID: &claimID, Type: v1.PayoutMethodRequestTypeIban, Currency: policy.Limit.Currency,
		Beneficiary: v1.Beneficiary{Name: "Lin Mei-hua", Country: "DE"},
		Iban:        &v1.IBAN{Iban: "DE89370400440532013000"},
	})
	if err := s.answered(method, err, http.StatusCreated); err != nil {
		return err
	}
	var claim *v1.Claim
	err = s.until(ctx, "a payout", func() (bool, error) {
		answer, err := s.api.GetClaimWithResponse(ctx, claimID, nil)
		if err := expect(answer, err, http.StatusOK); err != nil || len(answer.JSON200.Payouts) == 0 {
			return false, err
		}
		claim = answer.JSON200
		status := claim.Payouts[0].Status
		return status == v1.PayoutStatusReleased || status == v1.PayoutStatusReconciled, nil
	})
	if err != nil {
		return err
	}
	payout := claim.Payouts[0]
	return errors.Join(
		s.check(claim.Amount != nil && payout.Amount == *claim.Amount, "another amount was paid than is owed"),
		s.check(payout.PayoutMethodID != nil && *payout.PayoutMethodID == method.JSON201.ID, "the payout went to another account"),
		s.check(payout.ReleasedAt != nil, "the payout does not say when it was released"),
	)
}

func (s *story) timeline(ctx context.Context, claimID string) error {
	limit := 100
	answer, err := s.api.ListTimelineWithResponse(ctx, claimID, &v1.ListTimelineParams{Limit: &limit})
	if err := s.answered(answer, err, http.StatusOK); err != nil {
		return err
	}
	told, inOrder := false, true
	for i, entry := range answer.JSON200.Data {
		told = told || entry.Kind == "payout.released"
		inOrder = inOrder && entry.Sequence == int64(i+1)
	}
	return errors.Join(
		s.check(told, "the timeline does not tell of the payout"),
		s.check(inOrder, "the timeline does not count 1, 2, 3 …"),
	)
}

// mistake asks for an impossible radius and reads the typed problem.
func (s *story) mistake(ctx context.Context) error {
	request := v1.QuoteRequest{Product: "quake-circle", Context: map[string]any{"partner": "acme", "radius_km": -1}}
	answer, err := s.api.CreateQuoteWithResponse(ctx, nil, request)
	if err := s.answered(answer, err, http.StatusUnprocessableEntity); err != nil {
		return err
	}
	problem := answer.ApplicationProblemJSON422
	if err := s.check(problem != nil && problem.Errors != nil && len(*problem.Errors) > 0, "the problem names no member"); err != nil {
		return err
	}
	return errors.Join(
		s.check(problem.Code == "validation_failed", "the code is %s", problem.Code),
		s.check((*problem.Errors)[0].Pointer == "/context/radius_km", "the problem points at %s", (*problem.Errors)[0].Pointer),
	)
}
