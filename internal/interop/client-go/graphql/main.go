// Command graphql is a sample partner program: quote, bind, claim, payout, and errors,
// with a client that genqlient generated from the GraphQL schema.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/Khan/genqlient/graphql"
	"github.com/vektah/gqlparser/v2/gqlerror"

	v1 "parapet/internal/interop/client-go/graphql/generated/v1"
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
		log.Fatalf("GraphQL Go client: after %d checks: %v", s.Passed, err)
	}
	fmt.Printf("GraphQL Go client: %d checks passed\n", s.Passed)
}

// earthquakeInput is the source event of the run.
var earthquakeInput = v1.SourceEventInput{Source: "usgs", Id: "story-quake"}

// scenario is one partner's way from quote to payout, with a count of the passed checks.
type scenario struct {
	partner.Checks

	ready  partner.Server
	acme   graphql.Client
	source graphql.Client
}

func newScenario(ctx context.Context) (*scenario, error) {
	s := &scenario{}
	var err error
	if s.ready, err = partner.ReadServer(); err != nil {
		return s, err
	}
	for name, client := range map[string]*graphql.Client{"acme": &s.acme, "source": &s.source} {
		account, err := s.ready.NewHTTPClient(ctx, name)
		if err != nil {
			return s, err
		}
		*client = graphql.NewClient(s.ready.GraphQLURL, account)
	}
	return s, nil
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
	if err := s.reportQuake(ctx, quote, policy); err != nil {
		return err
	}
	claim, err := s.openClaim(ctx, policy)
	if err != nil {
		return err
	}
	if err := s.awaitPayout(ctx, policy, claim.Id); err != nil {
		return err
	}
	if err := s.readPages(ctx); err != nil {
		return err
	}
	if err := s.subscribeTimeline(ctx, claim.Id); err != nil {
		return err
	}
	return s.sendInvalidRequests(ctx, quote)
}

type (
	quote  = v1.CreateQuoteCreateQuoteCreateQuotePayloadQuote
	policy = v1.BindPolicyBindPolicyBindPolicyPayloadPolicy
	claim  = v1.ClaimCard
)

func (s *scenario) createQuote(ctx context.Context) (*quote, error) {
	key := "story-quote"
	input := v1.CreateQuoteInput{Product: "quake-circle", Context: json.RawMessage(`{"partner": "acme"}`), ClientMutationId: &key}
	answer, err := v1.CreateQuote(ctx, s.acme, input)
	if err != nil {
		return nil, err
	}
	again, err := v1.CreateQuote(ctx, s.acme, input)
	if err != nil {
		return nil, err
	}
	quote, sum := &answer.CreateQuote.Quote, int64(0)
	for _, line := range quote.Price.Lines {
		sum += line.Amount.Amount
	}
	return quote, errors.Join(
		s.Require(quote.Status == v1.QuoteStatusPriced && quote.ExpiresAt.After(time.Now()), "the quote is %s until %s", quote.Status, quote.ExpiresAt),
		s.Require(again.CreateQuote.Quote.Id == quote.Id, "sent again it is another quote"),
		s.Require(sum == quote.Price.Premium.Amount, "the lines sum to %d, the premium is %d", sum, quote.Price.Premium.Amount),
	)
}

func (s *scenario) bindQuote(ctx context.Context, quote *quote) (*policy, error) {
	name, country := "Lin Mei-hua", "TW"
	answer, err := v1.BindPolicy(ctx, s.acme, v1.BindPolicyInput{
		QuoteId: quote.Id, Policyholder: &v1.PersonInput{Name: &name, Country: &country},
	})
	if err != nil {
		return nil, err
	}
	policy := &answer.BindPolicy.Policy
	return policy, errors.Join(
		s.Require(policy.Status == v1.PolicyStatusActive, "the policy is %s", policy.Status),
		s.Require(policy.TermsHash == quote.TermsHash, "the policy has other terms than the quote"),
	)
}

func (s *scenario) reportQuake(ctx context.Context, quote *quote, policy *policy) error {
	place := quote.Cover.Place
	if err := s.Require(place.Latitude != nil && place.Longitude != nil, "a circle without a centre"); err != nil {
		return err
	}
	answer, err := v1.RecordObservations(ctx, s.source, v1.RecordObservationsInput{Observations: []v1.ObservationInput{{
		Source: earthquakeInput.Source, SourceEventId: earthquakeInput.Id, Kind: v1.ObservationKindEarthquake, Stage: v1.ObservationStageFinal,
		OccurredAt: new(policy.EffectiveAt.Add(time.Millisecond)), Location: &v1.PointInput{Latitude: *place.Latitude, Longitude: *place.Longitude},
		Measures: []v1.MeasuredInput{{Name: "magnitude", Value: "7.4", Unit: "mw"}},
	}}})
	if err != nil {
		return err
	}
	results := answer.RecordObservations.Results
	return s.Require(len(results) == 1 && results[0].Result == v1.RecordingResultCreated, "recorded: %+v", results)
}

// openClaim opens the claim, or gets the one that matching has already opened.
func (s *scenario) openClaim(ctx context.Context, policy *policy) (*claim, error) {
	answer, err := v1.OpenClaim(ctx, s.acme, v1.OpenClaimInput{PolicyId: policy.Id, SourceEvent: &earthquakeInput})
	if err != nil {
		return nil, err
	}
	claim := &answer.OpenClaim.Claim.ClaimCard
	measured := claim.Determination != nil && claim.Determination.Index != nil && claim.Determination.Index.Value == "7.4"
	return claim, s.Require(measured, "the claim does not say what was measured: %+v", claim.Determination)
}

// awaitPayout records an account and waits until the payout has been sent to it.
func (s *scenario) awaitPayout(ctx context.Context, policy *policy, claimID string) error {
	method, err := v1.RecordPayoutMethod(ctx, s.acme, v1.RecordPayoutMethodInput{
		ClaimId: &claimID, Type: v1.AccountTypeIban, Currency: policy.Limit.Currency,
		Beneficiary: v1.BeneficiaryInput{Name: "Lin Mei-hua", Country: "DE"},
		Iban:        &v1.IBANInput{Iban: "DE89370400440532013000"},
	})
	if err != nil {
		return err
	}
	recorded := method.RecordPayoutMethod.PayoutMethod
	var claim claim
	err = s.WaitUntil(ctx, "a payout", func() (bool, error) {
		answer, err := v1.Claim(ctx, s.acme, claimID)
		if err != nil || answer.Claim == nil || len(answer.Claim.Payouts) == 0 {
			return false, err
		}
		claim = answer.Claim.ClaimCard
		status := claim.Payouts[0].Status
		return status == v1.PayoutStatusReleased || status == v1.PayoutStatusReconciled, nil
	})
	if err != nil {
		return err
	}
	payout := claim.Payouts[0]
	return errors.Join(
		s.Require(recorded.Display.Last4 == "3000", "of the number %s is shown", recorded.Display.Last4),
		s.Require(claim.Amount != nil && payout.Amount.Cash == claim.Amount.Cash, "another amount was paid than is owed"),
		s.Require(payout.PayoutMethodId != nil && *payout.PayoutMethodId == recorded.Id, "the payout went to another account"),
		s.Require(payout.ReleasedAt != nil, "the payout does not say when it was released"),
	)
}

// readPages reads a list with and without its optional arguments.
func (s *scenario) readPages(ctx context.Context) error {
	all, err := v1.Claims(ctx, s.acme, 1, nil, nil)
	if err != nil {
		return err
	}
	page, declined := all.Claims.PageInfo, v1.ClaimStatusDeclined
	rest, err := v1.Claims(ctx, s.acme, 1, page.EndCursor, nil)
	if err != nil {
		return err
	}
	none, err := v1.Claims(ctx, s.acme, 1, nil, &v1.ClaimFilter{Status: &declined})
	if err != nil {
		return err
	}
	return errors.Join(
		s.Require(len(all.Claims.Nodes) == 1 && !page.HasNextPage, "the list is %+v", all.Claims),
		s.Require(len(rest.Claims.Nodes) == 0, "after the last record there is another"),
		s.Require(len(none.Claims.Nodes) == 0, "a filter does not narrow"),
	)
}

// sendInvalidRequests checks the codes of errors.
func (s *scenario) sendInvalidRequests(ctx context.Context, quote *quote) error {
	_, twice := v1.BindPolicy(ctx, s.acme, v1.BindPolicyInput{QuoteId: quote.Id})
	_, radius := v1.CreateQuote(ctx, s.acme, v1.CreateQuoteInput{Product: "quake-circle", Context: json.RawMessage(`{"partner": "acme", "radius_km": -1}`)})
	_, scope := v1.CreateQuote(ctx, s.source, v1.CreateQuoteInput{Product: "quake-circle", Context: json.RawMessage(`{"partner": "acme"}`)})
	return errors.Join(
		s.Require(errorCode(twice) == "quote_already_bound", "a second bind: %v", twice),
		s.Require(errorCode(radius) == "validation_failed", "a wrong radius: %v", radius),
		s.Require(errorCode(scope) == "insufficient_scope", "without the scope: %v", scope),
	)
}

// errorCode returns the error code of err; empty without one.
func errorCode(err error) string {
	var list gqlerror.List
	if !errors.As(err, &list) || len(list) == 0 {
		return ""
	}
	code, _ := list[0].Extensions["code"].(string)
	return code
}
