package scenario

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/shopspring/decimal"
	"github.com/uptrace/bun"

	"parapet/model/claims/adjudication"
	"parapet/model/kernel/actor"
	"parapet/model/kernel/store"
	"parapet/model/kernel/sums"
	"parapet/model/money"
	"parapet/model/wire"
)

// ExposureRequest asks what a hypothetical occurrence would pay now.
type ExposureRequest struct {
	Occurrence WhatIf
	Partner    string // operators only; empty means all partners
	Product    string // empty means all
	Currency   string // empty means all
	// NearMisses adds to the list, after those that pay, the policies whose place the
	// occurrence touches but whose trigger is not met. The totals always count them.
	NearMisses bool
}

// Expose evaluates all policies for a hypothetical occurrence and writes nothing. Totals
// cover all affected policies; the page lists them by payment, largest first. Cost is
// proportional to the policies in the occurrence's area. Claims of the same event from
// another source are not considered.
func (s *Service) Expose(ctx context.Context, caller actor.Actor, in ExposureRequest, page store.PageRequest) (*wire.Exposure, *store.Page[wire.Explanation], error) {
	if err := s.Authorize(ctx, caller, actor.ScopePoliciesRead); err != nil {
		return nil, nil, err
	}
	partner, err := caller.PartnerScope(in.Partner)
	if err != nil {
		return nil, nil, err
	}
	spec, err := s.ParsePage(caller, page, in.cursorName(), store.SortNewestFirst)
	if err != nil {
		return nil, nil, err
	}
	var e exposureSummary
	err = s.ReadReplicaSnapshot(ctx, func(ctx context.Context, tx bun.Tx, now time.Time) error {
		sc, err := newHypotheticalScenario(ctx, tx, &in.Occurrence, "/occurrence", partner, now)
		if err != nil {
			return err
		}
		e = exposureSummary{byCurrency: make(map[string]*currencyExposure), nearMisses: in.NearMisses, page: spec, occurredAt: sc.Row.OccurredAt}
		return e.evaluatePolicies(ctx, tx, sc, in.applyFilter)
	})
	if err != nil {
		return nil, nil, err
	}
	total, err := e.toRecord()
	if err != nil {
		return nil, nil, err
	}
	e.page.Count = func(context.Context) (int, error) { return e.listedCount, nil }
	list, err := store.NewPage(e.page, e.pageRows, (*Evaluation).sortKey, func(v *Evaluation) wire.Explanation { return *v.toRecord() })
	return total, list, err
}

// cursorName binds a cursor to the request. Omitted times mean the current time, which
// changes between pages; the order of policies does not.
func (in ExposureRequest) cursorName() string {
	text, err := wire.Encode(in)
	if err != nil { // it is plain data and always encodes
		return ""
	}
	return "exposure?" + string(text)
}

func (in ExposureRequest) applyFilter(q *bun.SelectQuery) *bun.SelectQuery {
	if in.Product != "" {
		q = q.Where("p.product = ?", in.Product)
	}
	if in.Currency != "" {
		q = q.Where("p.currency = ?", in.Currency)
	}
	return q
}

// exposureSummary adds up evaluations and keeps those of one page.
type exposureSummary struct {
	occurredAt  time.Time
	page        store.PageSpec
	nearMisses  bool
	byCurrency  map[string]*currencyExposure // by currency
	listedCount int                          // evaluations in the whole list
	pageRows    []Evaluation                 // the first ones after the cursor, in the order of sortKey
}

// currencyExposure holds the totals of one currency.
type currencyExposure struct {
	affected, nearMisses int
	bands                [len(bandEdges) - 1]exposureBand
}

type exposureBand struct {
	claims        int
	owed, payable sums.Amount
}

// bandEdges divide the factors, shares of the limit, into quarters.
var bandEdges = [...]decimal.Decimal{
	decimal.Zero, decimal.New(25, -2), decimal.New(5, -1), decimal.New(75, -2), decimal.New(1, 0),
}

func (e *exposureSummary) evaluatePolicies(ctx context.Context, tx bun.Tx, sc *Scenario, narrow func(*bun.SelectQuery) *bun.SelectQuery) error {
	alone := scenarios{sc}
	concerned, err := alone.findCandidates(ctx, tx)
	if err != nil {
		return err
	}
	for slice := range slices.Chunk(concerned[sc.Row.ID], 2*adjudication.MatchBatchSize) {
		policies, err := alone.loadPolicies(ctx, tx, slice, narrow)
		if err != nil {
			return err
		}
		for _, p := range policies {
			e.addEvaluations(sc.evaluatePolicy(p))
		}
	}
	return nil
}

// addEvaluations counts the evaluations of a scenario for one policy.
func (e *exposureSummary) addEvaluations(verdicts []Evaluation) {
	counted := false
	for i := range verdicts {
		v := &verdicts[i]
		if !v.isAffected() {
			continue
		}
		of := e.byCurrency[v.policy.Currency]
		if of == nil {
			of = new(currencyExposure)
			e.byCurrency[v.policy.Currency] = of
		}
		if !counted {
			of.affected++
			counted = true
		}
		if !v.determination.Met {
			of.nearMisses++
		}
		if v.payableAmount() > 0 {
			b := &of.bands[bandIndex(v.determination.Factor)]
			b.claims++
			b.owed.AddAmount(v.determination.Amount)
			b.payable.AddAmount(v.payableAmount())
		}
		if v.determination.Met || e.nearMisses {
			e.listedCount++
			e.addToPage(v)
		}
	}
}

func bandIndex(factor decimal.Decimal) int {
	for i, edge := range bandEdges[1:] {
		if factor.LessThanOrEqual(edge) {
			return i
		}
	}
	return len(bandEdges) - 2
}

// addToPage keeps an evaluation while it is among the first of the page.
func (e *exposureSummary) addToPage(v *Evaluation) {
	// Most evaluations of a large exposure return here, so nothing is formatted for them.
	if full := len(e.pageRows) > e.page.Limit; full && v.compareSortKey(&e.pageRows[e.page.Limit]) >= 0 {
		return
	}
	if v.sortKey() <= e.page.After {
		return
	}
	at, _ := slices.BinarySearchFunc(e.pageRows, v, func(have Evaluation, v *Evaluation) int { return have.compareSortKey(v) })
	e.pageRows = slices.Insert(e.pageRows, at, *v)
	e.pageRows = e.pageRows[:min(len(e.pageRows), e.page.Limit+1)]
}

// compareSortKey orders evaluations as their sort keys do.
func (v *Evaluation) compareSortKey(other *Evaluation) int {
	return cmp.Or(cmp.Compare(other.payableAmount(), v.payableAmount()), bytes.Compare(v.policy.ID[:], other.policy.ID[:]),
		cmp.Compare(v.facts.SourceEventID, other.facts.SourceEventID))
}

// sortKey orders evaluations: the largest payment first, then by policy and occurrence.
// It contains no time, because an occurrence at the current time is later on the next
// page.
func (v *Evaluation) sortKey() string {
	const most = 1<<63 - 1
	return fmt.Sprintf("%019d/%s/%s", most-v.payableAmount(), v.policy.ID, v.facts.SourceEventID)
}

func (e *exposureSummary) toRecord() (*wire.Exposure, error) {
	public := &wire.Exposure{OccurredAt: e.occurredAt}
	for _, currency := range slices.Sorted(maps.Keys(e.byCurrency)) {
		of := e.byCurrency[currency]
		total := wire.ExposureTotal{Currency: currency, Touched: of.affected, NearMisses: of.nearMisses}
		var all exposureBand
		for i := range of.bands {
			b := &of.bands[i]
			if b.claims == 0 {
				continue
			}
			all.claims += b.claims
			all.owed.Decimal, all.payable.Decimal = all.owed.Add(b.owed.Decimal), all.payable.Add(b.payable.Decimal)
			owed, payable, err := b.toMoney(currency)
			if err != nil {
				return nil, err
			}
			public.Bands = append(public.Bands, wire.ExposureBand{
				Currency: currency, From: bandEdges[i].String(), To: bandEdges[i+1].String(), Claims: b.claims, Owed: owed, Payable: payable,
			})
		}
		var err error
		if total.Owed, total.Payable, err = all.toMoney(currency); err != nil {
			return nil, err
		}
		total.Paying = all.claims
		public.Totals = append(public.Totals, total)
	}
	return public, nil
}

func (b *exposureBand) toMoney(currency string) (owed, payable wire.Money, err error) {
	amount, err := b.owed.ToMinorUnits()
	if err != nil {
		return owed, payable, err
	}
	rest, err := b.payable.ToMinorUnits()
	return money.New(amount, currency), money.New(rest, currency), err
}
