package model

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/shopspring/decimal"
	"github.com/uptrace/bun"

	"parapet/model/wire"
)

// Interval is how long a bucket of a series is, in UTC.
type Interval string

const (
	// Daily buckets begin at midnight.
	Daily Interval = "day"
	// Weekly buckets are ISO 8601 weeks, which begin on Monday.
	Weekly Interval = "week"
	// Monthly buckets are calendar months.
	Monthly Interval = "month"
)

// Intervals lists every interval.
func Intervals() []Interval { return []Interval{Daily, Weekly, Monthly} }

// MaxBuckets is the longest series.
const MaxBuckets = 400

// floor is the beginning of the bucket that t lies in; next is the following one's.
func (i Interval) floor(t time.Time) time.Time {
	year, month, day := t.UTC().Date()
	switch i {
	case Monthly:
		day = 1
	case Weekly:
		day -= (int(t.UTC().Weekday()) + 6) % 7
	case Daily:
	}
	return time.Date(year, month, day, 0, 0, 0, 0, time.UTC)
}

func (i Interval) next(bucket time.Time) time.Time {
	switch i {
	case Monthly:
		return bucket.AddDate(0, 1, 0)
	case Weekly:
		return bucket.AddDate(0, 0, 7)
	case Daily:
	}
	return bucket.AddDate(0, 0, 1)
}

// seriesRow is what happened of one kind in one bucket.
type seriesRow struct {
	Metric   string
	Bucket   time.Time
	Currency string
	Count    int64
	Amount   decimal.Decimal
	Incurred decimal.Decimal // of policies bound
}

// Series tells what happened over time: one series a currency, every bucket there,
// the first and the last cut to the time asked for. Errors: parameter_invalid for
// more than MaxBuckets buckets.
func (p *Portfolio) Series(ctx context.Context, interval Interval) ([]wire.Series, error) {
	if !slices.Contains(Intervals(), interval) {
		return nil, badParameter("interval", "Use day, week or month.")
	}
	var buckets []time.Time
	for at := interval.floor(p.From); at.Before(p.To); at = interval.next(at) {
		if buckets = append(buckets, at); len(buckets) > MaxBuckets {
			return nil, badParameter("interval", fmt.Sprintf("That makes more than %d points; use a longer interval or less time.", MaxBuckets))
		}
	}
	var rows []seriesRow
	if err := p.happenings(interval).Scan(ctx, &rows); err != nil {
		return nil, explain(fmt.Errorf("sum over time: %w", err))
	}
	found := make(map[string]map[time.Time]*seriesSum)
	for i := range rows {
		row := &rows[i]
		if found[row.Currency] == nil {
			found[row.Currency] = make(map[time.Time]*seriesSum)
		}
		at := found[row.Currency][row.Bucket.UTC()]
		if at == nil {
			at = new(seriesSum)
			found[row.Currency][row.Bucket.UTC()] = at
		}
		at.take(row)
	}
	list := []wire.Series{}
	for _, currency := range slices.Sorted(maps.Keys(found)) {
		series := wire.Series{Currency: currency}
		for _, at := range buckets {
			point, err := found[currency][at].public(currency)
			if err != nil {
				return nil, err
			}
			point.From, point.To = maxTime(at, p.From), minTime(interval.next(at), p.To)
			series.Points = append(series.Points, point)
		}
		list = append(list, series)
	}
	return list, nil
}

// The metrics of a series.
const (
	metricBound    = "bound"
	metricOpened   = "opened"
	metricApproved = "approved"
	metricReleased = "released"
)

// happenings counts and sums each metric by bucket, in one statement.
func (p *Portfolio) happenings(interval Interval) *bun.SelectQuery {
	of := func(q *bun.SelectQuery, metric, column, amount, incurred string) *bun.SelectQuery {
		return p.during(q, column).ColumnExpr("? as metric", metric).ColumnExpr("date_trunc(?, ?TableAlias.?, 'UTC') as bucket", interval, bun.Ident(column)).
			ColumnExpr("?TableAlias.currency").ColumnExpr("count(*) as count").ColumnExpr("coalesce(sum(" + amount + "), 0) as amount").
			ColumnExpr("coalesce(sum(" + incurred + "), 0) as incurred").GroupExpr("2, 3")
	}
	return of(p.withLosses(p.policies()), metricBound, "created_at", written, "l.incurred").
		UnionAll(of(p.claims(), metricOpened, "opened_at", "0", "0")).
		UnionAll(of(p.claims().Where("c.status in (?, ?)", ClaimApproved, ClaimClosed), metricApproved, "decided_at", "c.amount", "0")).
		UnionAll(of(p.payouts(), metricReleased, "released_at", "po.amount", "0"))
}

// seriesSum is one bucket of one currency.
type seriesSum struct {
	bound, opened                         int64
	written, incurred, approved, released decimal.Decimal
}

func (s *seriesSum) take(row *seriesRow) {
	switch row.Metric {
	case metricBound:
		s.bound, s.written, s.incurred = row.Count, row.Amount, row.Incurred
	case metricOpened:
		s.opened = row.Count
	case metricApproved:
		s.approved = row.Amount
	case metricReleased:
		s.released = row.Amount
	}
}

// public is a bucket's figures; of one in which nothing happened, zeros.
func (s *seriesSum) public(currency string) (wire.SeriesPoint, error) {
	if s == nil {
		s = new(seriesSum)
	}
	in := amounts{currency: currency}
	point := wire.SeriesPoint{
		PoliciesBound: s.bound, PremiumWritten: in.of(s.written), ClaimsOpened: s.opened,
		ClaimsApproved: in.of(s.approved), PayoutsReleased: in.of(s.released), LossRatio: lossRatio(s.incurred, s.written),
	}
	return point, in.err
}
