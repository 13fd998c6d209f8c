package portfolio

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/shopspring/decimal"
	"github.com/uptrace/bun"

	"parapet/model/claims"
	"parapet/model/kernel/apperr"
	"parapet/model/kernel/store"
	"parapet/model/kernel/sums"
	"parapet/model/wire"
)

// Interval is the length of a series' buckets, in UTC.
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

// MaxBuckets bounds the number of buckets in a series.
const MaxBuckets = 400

// bucketStart returns the start of the bucket that contains t.
func (i Interval) bucketStart(t time.Time) time.Time {
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

func (i Interval) nextBucket(bucket time.Time) time.Time {
	switch i {
	case Monthly:
		return bucket.AddDate(0, 1, 0)
	case Weekly:
		return bucket.AddDate(0, 0, 7)
	case Daily:
	}
	return bucket.AddDate(0, 0, 1)
}

// seriesRow is the count and sum of one metric in one bucket.
type seriesRow struct {
	Metric   string
	Bucket   time.Time
	Currency string
	Count    int64
	Amount   decimal.Decimal
	Incurred decimal.Decimal // of the policies bound in the bucket
}

// Series returns figures over time: one series per currency with every bucket; the
// first and the last bucket are cut to the period. Errors: parameter_invalid for more
// than MaxBuckets buckets.
func (p *Portfolio) Series(ctx context.Context, interval Interval) ([]wire.Series, error) {
	if !slices.Contains(Intervals(), interval) {
		return nil, apperr.InvalidParameter("interval", "Use day, week or month.")
	}
	var buckets []time.Time
	for at := interval.bucketStart(p.From); at.Before(p.To); at = interval.nextBucket(at) {
		if buckets = append(buckets, at); len(buckets) > MaxBuckets {
			return nil, apperr.InvalidParameter("interval", fmt.Sprintf("These are more than %d points; use a longer interval or a shorter period.", MaxBuckets))
		}
	}
	var rows []seriesRow
	if err := p.svc.ScanReplica(ctx, p.seriesQuery(interval), &rows); err != nil {
		return nil, store.TranslateError(fmt.Errorf("sum over time: %w", err))
	}
	found := make(map[string]map[time.Time]*bucketSum)
	for i := range rows {
		row := &rows[i]
		if found[row.Currency] == nil {
			found[row.Currency] = make(map[time.Time]*bucketSum)
		}
		at := found[row.Currency][row.Bucket.UTC()]
		if at == nil {
			at = new(bucketSum)
			found[row.Currency][row.Bucket.UTC()] = at
		}
		at.addRow(row)
	}
	list := []wire.Series{}
	for _, currency := range slices.Sorted(maps.Keys(found)) {
		series := wire.Series{Currency: currency}
		for _, at := range buckets {
			point, err := found[currency][at].toRecord(currency)
			if err != nil {
				return nil, err
			}
			point.From, point.To = store.LaterTime(at, p.From), store.EarlierTime(interval.nextBucket(at), p.To)
			series.Points = append(series.Points, point)
		}
		list = append(list, series)
	}
	return list, nil
}

// Metrics of a series.
const (
	metricBound    = "bound"
	metricOpened   = "opened"
	metricApproved = "approved"
	metricReleased = "released"
)

// seriesQuery counts and sums each metric by bucket, in one statement.
func (p *Portfolio) seriesQuery(interval Interval) *bun.SelectQuery {
	of := func(q *bun.SelectQuery, metric, column, amount, incurred string) *bun.SelectQuery {
		return p.restrictToPeriod(q, column).ColumnExpr("? as metric", metric).ColumnExpr("date_trunc(?, ?TableAlias.?, 'UTC') as bucket", interval, bun.Ident(column)).
			ColumnExpr("?TableAlias.currency").ColumnExpr("count(*) as count").ColumnExpr("coalesce(sum(" + amount + "), 0) as amount").
			ColumnExpr("coalesce(sum(" + incurred + "), 0) as incurred").GroupExpr("2, 3")
	}
	return of(p.joinLosses(p.policiesQuery()), metricBound, "created_at", writtenSQL, "l.incurred").
		UnionAll(of(p.claimsQuery(), metricOpened, "opened_at", "0", "0")).
		UnionAll(of(p.claimsQuery().Where("c.status in (?, ?)", claims.ClaimApproved, claims.ClaimClosed), metricApproved, "decided_at", "c.amount", "0")).
		UnionAll(of(p.payoutsQuery(), metricReleased, "released_at", "po.amount", "0"))
}

// bucketSum holds the sums of one bucket and currency.
type bucketSum struct {
	bound, opened                         int64
	written, incurred, approved, released decimal.Decimal
}

func (s *bucketSum) addRow(row *seriesRow) {
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

// toRecord returns the bucket's figures; a nil bucket gives zeros.
func (s *bucketSum) toRecord(currency string) (wire.SeriesPoint, error) {
	if s == nil {
		s = new(bucketSum)
	}
	in := sums.Converter{Currency: currency}
	point := wire.SeriesPoint{
		PoliciesBound: s.bound, PremiumWritten: in.ToMoney(s.written), ClaimsOpened: s.opened,
		ClaimsApproved: in.ToMoney(s.approved), PayoutsReleased: in.ToMoney(s.released), LossRatio: lossRatio(s.incurred, s.written),
	}
	return point, in.Err
}
