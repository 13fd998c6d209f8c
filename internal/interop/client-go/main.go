// Command client-go is a sample partner program: quote, bind, claim, payout, and one
// error, with a client that oapi-codegen generated from the OpenAPI document.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"net/http"
	"time"

	v1 "parapet/internal/interop/client-go/generated/v1"
	"parapet/internal/interop/client-go/partner"
)

// timeout limits the whole run; it usually takes two seconds.
const timeout = 40 * time.Second

func main() {
	log.SetFlags(0)
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	s, err := newScenario(ctx)
	if err == nil {
		err = s.runSteps(ctx)
	}
	if err != nil {
		log.Fatalf("Go client: after %d checks: %v", s.Passed, err)
	}
	fmt.Printf("Go client: %d checks passed\n", s.Passed)
}

// scenario is one partner's way from quote to payout, with a count of the passed checks.
type scenario struct {
	partner.Checks

	api *v1.ClientWithResponses
}

func newScenario(ctx context.Context) (*scenario, error) {
	s := &scenario{}
	ready, err := partner.ReadServer()
	if err != nil {
		return s, err
	}
	acme, err := ready.NewHTTPClient(ctx, "acme")
	if err != nil {
		return s, err
	}
	s.api, err = v1.NewClientWithResponses(ready.BaseURL+"/v1", v1.WithHTTPClient(acme))
	return s, err
}

// response is the interface of every generated response.
type response interface {
	StatusCode() int
	GetBody() []byte
}

// requireStatus returns an error unless the response has the status.
func requireStatus(r response, err error, status int) error {
	if err != nil {
		return err
	}
	if r.StatusCode() != status {
		return fmt.Errorf("status %d instead of %d: %s", r.StatusCode(), status, r.GetBody())
	}
	return nil
}

// checkAnswer is requireStatus that also counts a passed check.
func (s *scenario) checkAnswer(r response, err error, status int) error {
	if err := requireStatus(r, err, status); err != nil {
		return err
	}
	s.Passed++
	return nil
}

func (s *scenario) runSteps(ctx context.Context) error {
	quote, err := s.createQuote(ctx)
	if err != nil {
		return err
	}
	policy, err := s.bindQuote(ctx, quote)
	if err != nil {
		return err
	}
	claimID, err := s.reportSandboxQuake(ctx, policy)
	if err != nil {
		return err
	}
	if err := s.awaitPayout(ctx, policy, claimID); err != nil {
		return err
	}
	if err := s.readTimeline(ctx, claimID); err != nil {
		return err
	}
	return s.sendInvalidQuote(ctx)
}

func (s *scenario) createQuote(ctx context.Context) (*v1.Quote, error) {
	key := "story-quote"
	request := v1.QuoteRequest{Product: "quake-circle", Context: map[string]any{"partner": "acme"}}
	answer, err := s.api.CreateQuoteWithResponse(ctx, &v1.CreateQuoteParams{IdempotencyKey: &key}, request)
	if err := s.checkAnswer(answer, err, http.StatusCreated); err != nil {
		return nil, err
	}
	quote := answer.JSON201
	sum := int64(0)
	for _, line := range quote.Price.Lines {
		sum += line.Amount.Amount
	}
	read, err := s.api.GetQuoteWithResponse(ctx, quote.ID, nil)
	return quote, errors.Join(
		s.checkAnswer(read, err, http.StatusOK),
		s.Require(quote.Status == v1.QuoteStatusPriced, "the quote is %s", quote.Status),
		s.Require(sum == quote.Price.Premium.Amount, "the lines sum to %d, the premium is %d", sum, quote.Price.Premium.Amount),
	)
}

func (s *scenario) bindQuote(ctx context.Context, quote *v1.Quote) (*v1.Policy, error) {
	name, country := "Lin Mei-hua", "TW"
	answer, err := s.api.CreatePolicyWithResponse(ctx, nil, v1.BindRequest{
		QuoteID: quote.ID, Policyholder: &v1.PolicyholderFields{Name: &name, Country: &country},
	})
	if err := s.checkAnswer(answer, err, http.StatusCreated); err != nil {
		return nil, err
	}
	policy := answer.JSON201
	return policy, errors.Join(
		s.Require(policy.Status == v1.PolicyStatusActive, "the policy is %s", policy.Status),
		s.Require(policy.TermsHash == quote.TermsHash, "the policy has other terms than the quote"),
	)
}

// reportSandboxQuake posts an earthquake that only acme's policies see, and waits for its
// claim.
func (s *scenario) reportSandboxQuake(ctx context.Context, policy *v1.Policy) (string, error) {
	place := policy.Cover.Place
	if err := s.Require(place.Latitude != nil && place.Longitude != nil, "a circle without a centre"); err != nil {
		return "", err
	}
	// A body with two alternative forms is marshalled here: the generated request type
	// loses its MarshalJSON and would send an empty object.
	body, err := json.Marshal(v1.ObservationInput{
		Source: "usgs", SourceEventID: "story-quake",
		Kind: v1.ObservationInputKindEarthquake, Stage: v1.ObservationInputStageFinal,
		OccurredAt: new(policy.EffectiveAt.Add(time.Millisecond)),
		Location:   &v1.Point{Latitude: *place.Latitude, Longitude: *place.Longitude},
		Measures:   &map[string]v1.Measure{"magnitude": {Value: "7.4", Unit: "mw"}},
	})
	if err != nil {
		return "", err
	}
	observed, err := s.api.CreateSandboxObservationsWithBodyWithResponse(ctx, nil, "application/json", bytes.NewReader(body))
	if err := s.checkAnswer(observed, err, http.StatusCreated); err != nil {
		return "", err
	}
	var claimID string
	err = s.WaitUntil(ctx, "a claim", func() (bool, error) {
		answer, err := s.api.GetPolicyWithResponse(ctx, policy.ID, nil)
		if err := requireStatus(answer, err, http.StatusOK); err != nil || len(answer.JSON200.Claims) == 0 {
			return false, err
		}
		claimID = answer.JSON200.Claims[0].ID
		return true, nil
	})
	return claimID, err
}

// awaitPayout records an account and waits until the payout has been sent to it.
func (s *scenario) awaitPayout(ctx context.Context, policy *v1.Policy, claimID string) error {
	method, err := s.api.CreatePayoutMethodWithResponse(ctx, nil, v1.PayoutMethodRequest{
		ClaimID: &claimID, Type: v1.PayoutMethodRequestTypeIban, Currency: policy.Limit.Currency,
		Beneficiary: v1.Beneficiary{Name: "Lin Mei-hua", Country: "DE"},
		Iban:        &v1.IBAN{Iban: "DE89370400440532013000"},
	})
	if err := s.checkAnswer(method, err, http.StatusCreated); err != nil {
		return err
	}
	var claim *v1.Claim
	err = s.WaitUntil(ctx, "a payout", func() (bool, error) {
		answer, err := s.api.GetClaimWithResponse(ctx, claimID, nil)
		if err := requireStatus(answer, err, http.StatusOK); err != nil || len(answer.JSON200.Payouts) == 0 {
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
		s.Require(claim.Amount != nil && payout.Amount == *claim.Amount, "another amount was paid than is owed"),
		s.Require(payout.PayoutMethodID != nil && *payout.PayoutMethodID == method.JSON201.ID, "the payout went to another account"),
		s.Require(payout.ReleasedAt != nil, "the payout does not say when it was released"),
	)
}

func (s *scenario) readTimeline(ctx context.Context, claimID string) error {
	limit := 100
	answer, err := s.api.ListTimelineWithResponse(ctx, claimID, &v1.ListTimelineParams{Limit: &limit})
	if err := s.checkAnswer(answer, err, http.StatusOK); err != nil {
		return err
	}
	released, inOrder := false, true
	for i, entry := range answer.JSON200.Data {
		released = released || entry.Kind == "payout.released"
		inOrder = inOrder && entry.Sequence == int64(i+1)
	}
	return errors.Join(
		s.Require(released, "the timeline lacks the release of the payout"),
		s.Require(inOrder, "the timeline does not count 1, 2, 3 …"),
	)
}

// sendInvalidQuote sends an invalid radius and reads the typed problem.
func (s *scenario) sendInvalidQuote(ctx context.Context) error {
	request := v1.QuoteRequest{Product: "quake-circle", Context: map[string]any{"partner": "acme", "radius_km": -1}}
	answer, err := s.api.CreateQuoteWithResponse(ctx, nil, request)
	if err := s.checkAnswer(answer, err, http.StatusUnprocessableEntity); err != nil {
		return err
	}
	problem := answer.ApplicationProblemJSON422
	if err := s.Require(problem != nil && problem.Errors != nil && len(*problem.Errors) > 0, "the problem names no member"); err != nil {
		return err
	}
	return errors.Join(
		s.Require(problem.Code == "validation_failed", "the code is %s", problem.Code),
		s.Require((*problem.Errors)[0].Pointer == "/context/radius_km", "the problem points at %s", (*problem.Errors)[0].Pointer),
	)
}
