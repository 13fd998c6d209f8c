package model

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

	"parapet/model/money"
	"parapet/model/wire"
)

// ExposureRequest asks what something would cost now.
type ExposureRequest struct {
	Occurrence AsIf
	Partner    string // operators only; empty means everybody's policies
	Product    string // empty means all
	Currency   string // empty means all
	// NearMisses lists policies whose place it touches but whose trigger it misses,
	// too, behind those that pay. The totals count them in any case.
	NearMisses bool
}

// Expose judges all policies by the rules of the matcher for something that did
// not happen, and writes nothing. The sums are of all policies concerned; the
// page lists them, the largest payment first. Time and memory follow the policies
// that lie in its way, not the book. What a claim of the same event by another
// source would hold back is not foreseen. Errors: validation_failed,
// partner_mismatch, cursor_invalid, parameter_invalid.
func (s *Service) Expose(ctx context.Context, actor Actor, in ExposureRequest, page PageRequest) (*wire.Exposure, *Page[wire.Explanation], error) {
	if err := s.authorize(ctx, actor, ScopePoliciesRead); err != nil {
		return nil, nil, err
	}
	eyes, err := actor.eyes(in.Partner)
	if err != nil {
		return nil, nil, err
	}
	e := exposing{sums: make(map[string]*exposed), nearMisses: in.NearMisses}
	if e.page, err = s.page(actor, page, in.name()); err != nil {
		return nil, nil, err
	}
	err = s.view(ctx, func(ctx context.Context, tx bun.Tx, now time.Time) error {
		sc, err := might(ctx, tx, &in.Occurrence, "/occurrence", eyes, now)
		if err != nil {
			return err
		}
		e.at = sc.row.OccurredAt
		return e.look(ctx, tx, sc, in.narrow)
	})
	if err != nil {
		return nil, nil, err
	}
	total, err := e.public()
	if err != nil {
		return nil, nil, err
	}
	e.page.count = func(context.Context) (int, error) { return e.listed, nil }
	list, err := paged(e.page, e.first, (*verdict).rank, func(v *verdict) wire.Explanation { return *v.public() })
	return total, list, err
}

// name binds a cursor to what was asked. Times left out mean now, which moves; the
// order of policies does not.
func (in ExposureRequest) name() string {
	text, err := wire.Encode(in)
	if err != nil { // it is plain data
		return ""
	}
	return "exposure?" + string(text)
}

func (in ExposureRequest) narrow(q *bun.SelectQuery) *bun.SelectQuery {
	if in.Product != "" {
		q = q.Where("p.product = ?", in.Product)
	}
	if in.Currency != "" {
		q = q.Where("p.currency = ?", in.Currency)
	}
	return q
}

// exposing sums verdicts and keeps those of one page.
type exposing struct {
	at         time.Time
	page       page
	nearMisses bool
	sums       map[string]*exposed // by currency
	listed     int                 // verdicts of the whole list
	first      []verdict           // the first ones behind the cursor, in order of rank
}

// exposed is the sums of one currency.
type exposed struct {
	touched, nearMisses int
	bands               [len(bandEdges) - 1]band
}

type band struct {
	claims        int
	owed, payable sum
}

// bandEdges divide the factors, shares of the limit, into quarters.
var bandEdges = [...]decimal.Decimal{
	decimal.Zero, decimal.New(25, -2), decimal.New(5, -1), decimal.New(75, -2), decimal.New(1, 0),
}

func (e *exposing) look(ctx context.Context, tx bun.Tx, sc *scene, narrow func(*bun.SelectQuery) *bun.SelectQuery) error {
	alone := scenes{sc}
	concerned, err := alone.concerned(ctx, tx)
	if err != nil {
		return err
	}
	for slice := range slices.Chunk(concerned[sc.row.ID], 4*sliceSize) {
		policies, err := alone.among(ctx, tx, slice, narrow)
		if err != nil {
			return err
		}
		for _, p := range policies {
			e.add(sc.verdicts(p))
		}
	}
	return nil
}

// add counts what a scene means for one policy.
func (e *exposing) add(verdicts []verdict) {
	counted := false
	for i := range verdicts {
		v := &verdicts[i]
		if !v.touched() {
			continue
		}
		of := e.sums[v.policy.Currency]
		if of == nil {
			of = new(exposed)
			e.sums[v.policy.Currency] = of
		}
		if !counted {
			of.touched++
			counted = true
		}
		if !v.d.Met {
			of.nearMisses++
		}
		if v.payable() > 0 {
			b := &of.bands[bandOf(v.d.Factor)]
			b.claims++
			b.owed.add(v.d.Amount)
			b.payable.add(v.payable())
		}
		if v.d.Met || e.nearMisses {
			e.listed++
			e.keep(v)
		}
	}
}

func bandOf(factor decimal.Decimal) int {
	for i, edge := range bandEdges[1:] {
		if factor.LessThanOrEqual(edge) {
			return i
		}
	}
	return len(bandEdges) - 2
}

// keep remembers a verdict while it is among the first of the page.
func (e *exposing) keep(v *verdict) {
	// Most verdicts of a large exposure end here, so nothing is formatted for them.
	if full := len(e.first) > e.page.limit; full && v.compareRank(&e.first[e.page.limit]) >= 0 {
		return
	}
	if v.rank() <= e.page.after {
		return
	}
	at, _ := slices.BinarySearchFunc(e.first, v, func(have verdict, v *verdict) int { return have.compareRank(v) })
	e.first = slices.Insert(e.first, at, *v)
	e.first = e.first[:min(len(e.first), e.page.limit+1)]
}

// compareRank orders verdicts as their ranks do.
func (v *verdict) compareRank(other *verdict) int {
	return cmp.Or(cmp.Compare(other.payable(), v.payable()), bytes.Compare(v.policy.ID[:], other.policy.ID[:]),
		cmp.Compare(v.facts.SourceEventID, other.facts.SourceEventID))
}

// rank sorts verdicts: the largest payment first, then by policy and window. No
// time is in it, because an occurrence supposed now happens later on the next page.
func (v *verdict) rank() string {
	const most = 1<<63 - 1
	return fmt.Sprintf("%019d/%s/%s", most-v.payable(), v.policy.ID, v.facts.SourceEventID)
}

func (e *exposing) public() (*wire.Exposure, error) {
	public := &wire.Exposure{OccurredAt: e.at}
	for _, currency := range slices.Sorted(maps.Keys(e.sums)) {
		of := e.sums[currency]
		total := wire.ExposureTotal{Currency: currency, Touched: of.touched, NearMisses: of.nearMisses}
		var all band
		for i := range of.bands {
			b := &of.bands[i]
			if b.claims == 0 {
				continue
			}
			all.claims += b.claims
			all.owed.Decimal, all.payable.Decimal = all.owed.Add(b.owed.Decimal), all.payable.Add(b.payable.Decimal)
			owed, payable, err := b.whole(currency)
			if err != nil {
				return nil, err
			}
			public.Bands = append(public.Bands, wire.ExposureBand{
				Currency: currency, From: bandEdges[i].String(), To: bandEdges[i+1].String(), Claims: b.claims, Owed: owed, Payable: payable,
			})
		}
		var err error
		if total.Owed, total.Payable, err = all.whole(currency); err != nil {
			return nil, err
		}
		total.Paying = all.claims
		public.Totals = append(public.Totals, total)
	}
	return public, nil
}

func (b *band) whole(currency string) (owed, payable wire.Money, err error) {
	amount, err := b.owed.whole()
	if err != nil {
		return owed, payable, err
	}
	rest, err := b.payable.whole()
	return money.New(amount, currency), money.New(rest, currency), err
}
