package partition_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"parapet/model/kernel/actor"
	"parapet/model/kernel/partition"
	"parapet/model/kernel/store"
	"parapet/model/modeltest"
)

// maxMonth is the longest month.
const maxMonth = 31 * modeltest.Day

func addAhead(t *testing.T, b *modeltest.Bundle) (made int) {
	t.Helper()
	require.NoError(t, b.Service.InTx(t.Context(), actor.System(), func(ctx context.Context, tx *store.Tx) (err error) {
		made, err = partition.AddAhead(ctx, tx)
		return err
	}))
	return made
}

func loadStats(t *testing.T, b *modeltest.Bundle) partition.Stats {
	t.Helper()
	stats, err := partition.LoadStats(t.Context(), b.Service.Store)
	require.NoError(t, err)
	return stats
}

func readTexts(t *testing.T, b *modeltest.Bundle, query string, args ...any) []string {
	t.Helper()
	rows, err := b.DB.Pool.Query(t.Context(), query, args...)
	require.NoError(t, err)
	texts, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)
	return texts
}

// claim binds a policy, lets an earthquake hit it and returns the partition of the claim's
// timeline.
func claim(t *testing.T, b *modeltest.Bundle, quake string) string {
	t.Helper()
	policy := b.QuoteAndBind("quake-circle", nil)
	b.Observe(modeltest.Quake(quake, b.Now(), modeltest.Epicentre, "6.4"))
	b.RunJobs()
	id, err := store.ResourceClaim.ParseID(b.OnlyClaim(policy).ID)
	require.NoError(t, err)
	found := readTexts(t, b, "select distinct tableoid::regclass::text from timeline_entries where claim_id = $1", id)
	require.Len(t, found, 1)
	return found[0]
}

// TestAYearOfPartitions lets a year of business time pass, month by month.
func TestAYearOfPartitions(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	require.Equal(t, "timeline_entries_before", claim(t, b, "us0"))
	for month := range 13 {
		b.AdvanceClock(maxMonth)
		b.Sweep()
		border := b.Now().AddDate(0, 0, 1-b.Now().Day()).Truncate(modeltest.Day)
		want := border.Format("timeline_entries_2006_01")
		if month == 0 && len(readTexts(t, b, "select 'there is none' where to_regclass($1) is null", want)) > 0 {
			want = "timeline_entries_before"
		}
		require.Equal(t, want, claim(t, b, fmt.Sprintf("us%d", month+1)))
		require.Greater(t, partitionEnd(t, b, "timeline_entries"), b.Now().Add(3*28*modeltest.Day))
		require.Zero(t, addAhead(t, b), "everything was added")
	}
	require.Zero(t, loadStats(t, b).Misplaced)
	require.Empty(t, readTexts(t, b, "select 'a row' from timeline_entries_default union all select 'an event' from events_default union all select 'a posting' from ledger_entries_default"))
	require.Empty(t, readTexts(t, b, `select r.name from partition_ranges r where r.lower_id is not null
		and not exists (select from partition_ranges s where s.parent = r.parent and s.upper_id = r.lower_id)`), "no month is missing")
}

// partitionEnd returns the end of the newest partition of a table.
func partitionEnd(t *testing.T, b *modeltest.Bundle, table string) (end time.Time) {
	t.Helper()
	require.NoError(t, b.DB.Pool.QueryRow(t.Context(), "select max(uuid_time(upper_id)) from partition_ranges where parent = $1", table).Scan(&end))
	return end
}

// TestAYearOfEvents lets a year of the processes' clock pass: their time is in the ids of
// events and postings.
func TestAYearOfEvents(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t, modeltest.WithoutChecks())
	b.QuoteAndBind("quake-circle", nil)
	b.Relay()
	now := time.Now().UTC().AddDate(0, 0, 1-time.Now().UTC().Day())
	for month := range 13 {
		at := now.AddDate(0, month, 0)
		modeltest.ExecSQL(t, b, "select add_month_partitions($1, $1)", at)
		require.Empty(t, readTexts(t, b, "select unnest(add_month_partitions($1, $1))", at))
		modeltest.ExecSQL(t, b, `with copied as (select *, (left(lowest_uuid($1)::text, 14) || '7' || right(gen_random_uuid()::text, 21))::uuid as copy from events where id in (select event_id from ledger_entries)
				and tableoid = 'events_before'::regclass order by id limit 1),
			e as (insert into events select copy, partner, type, subject_type, subject_id, subject_version, occurred_at, data, data_hash from copied),
			l as (insert into ledger_entries select copy, l.partner, account, policy_id, claim_id, payout_id, currency, amount, at from ledger_entries l join copied c on c.id = l.event_id)
			insert into event_outbox (partner, event_id) select partner, copy from copied`, at.AddDate(0, 0, 2))
		b.Relay()
		tables := readTexts(t, b, "select distinct tableoid::regclass::text from events where id >= lowest_uuid($1) union select distinct tableoid::regclass::text from ledger_entries where event_id >= lowest_uuid($1) order by 1", at.AddDate(0, 0, 2))
		want := []string{at.Format("events_2006_01"), at.Format("ledger_entries_2006_01")}
		if len(readTexts(t, b, "select 'there is none' where to_regclass($1) is null", want[0])) > 0 {
			want = []string{"events_before", "ledger_entries_before"}
		}
		require.Equal(t, want, tables)
	}
	require.Empty(t, readTexts(t, b, "select 'an event' from events_default union all select 'a posting' from ledger_entries_default"))
	require.Equal(t, readTexts(t, b, "select lower_id::text from partition_ranges where parent = 'events' and lower_id is not null order by 1"),
		readTexts(t, b, "select lower_id::text from partition_ranges where parent = 'ledger_entries' and lower_id is not null order by 1"))
	proof, err := b.Service.Events.VerifyChain(t.Context(), b.Operator, "acme")
	require.NoError(t, err)
	require.True(t, proof.Intact, "%v", proof.Faults)
	_, err = b.DB.Pool.Exec(t.Context(), "insert into ledger_entries select lowest_uuid($1), partner, account, policy_id, claim_id, payout_id, currency, amount, at from ledger_entries where event_id = (select max(event_id::text)::uuid from ledger_entries)", now.AddDate(1, 0, 3))
	require.ErrorContains(t, err, "ledger_entries_event_id_fkey")
}

// TestPartitionsBeginInUTC covers a session of psql in a time zone with summer time.
func TestPartitionsBeginInUTC(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t, modeltest.WithoutChecks())
	session := modeltest.BeginOutsideTx(t, b)
	session.Run("set local timezone = 'Europe/Berlin'")
	session.Run("select add_month_partitions('2031-09-15T00:00:00Z', '2031-09-15T00:00:00Z')")
	require.NoError(t, session.Commit(t.Context()))
	require.Equal(t, []string{"2031-09-01 00:00:00", "2031-10-01 00:00:00", "2031-11-01 00:00:00", "2031-12-01 00:00:00"},
		readTexts(t, b, "select (uuid_time(lower_id) at time zone 'UTC')::text from partition_ranges where parent = 'events' and lower_id >= lowest_uuid('2031-01-01T00:00:00Z') order by 1"))
}

// TestSkippedMonths lets the clock jump over years: rows that come before the sweep are in
// the default partition, and so is the rest of their month.
func TestSkippedMonths(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	claim(t, b, "us1")
	b.AdvanceClock(3 * 365 * modeltest.Day)
	require.Equal(t, "timeline_entries_default", claim(t, b, "us2"))
	require.Positive(t, loadStats(t, b).Misplaced)
	require.Greater(t, loadStats(t, b).Overdue, 2*365*modeltest.Day)
	require.Equal(t, 3, addAhead(t, b), "the months after this one")
	require.Equal(t, "timeline_entries_default", claim(t, b, "us3"))
	b.AdvanceClock(maxMonth)
	require.Equal(t, b.Now().Format("timeline_entries_2006_01"), claim(t, b, "us4"))
	require.Equal(t, 1, addAhead(t, b))
	b.AdvanceClock(7 * modeltest.Day)
	require.Zero(t, loadStats(t, b).Misplaced)
	require.Zero(t, loadStats(t, b).Overdue)
	b.AdvanceClock(365 * modeltest.Day)
	require.Equal(t, 4, addAhead(t, b), "the clock jumped again, and nothing was written before the sweep")
	require.Equal(t, b.Now().Format("timeline_entries_2006_01"), claim(t, b, "us5"))
}

func TestManyProcessesAddPartitionsOnce(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	b.AdvanceClock(365 * modeltest.Day)
	made := make([]int, 4)
	var all sync.WaitGroup
	for i := range made {
		all.Go(func() {
			err := b.Service.InTx(t.Context(), actor.System(), func(ctx context.Context, tx *store.Tx) (err error) {
				made[i], err = partition.AddAhead(ctx, tx)
				return err
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	require.ElementsMatch(t, []int{4, 0, 0, 0}, made)
}

// TestLockedTablesAreLeft covers a transaction that keeps the locks: the next turn adds what
// is missing.
func TestLockedTablesAreLeft(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	b.AdvanceClock(365 * modeltest.Day)
	other := modeltest.BeginOutsideTx(t, b)
	other.Run("lock table timeline_entries in access exclusive mode")
	require.Zero(t, addAhead(t, b))
	require.NoError(t, other.Rollback(t.Context()))
	require.Positive(t, loadStats(t, b).Overdue)
	require.Equal(t, 4, addAhead(t, b))
	require.Zero(t, loadStats(t, b).Overdue)
}

// TestStatisticsOfGrownTables covers what autovacuum leaves out.
func TestStatisticsOfGrownTables(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t, modeltest.WithoutChecks())
	b.QuoteAndBind("quake-circle", nil)
	inherited := func() []string {
		return readTexts(t, b, "select distinct tablename::text from pg_stats where inherited and tablename = 'events'")
	}
	b.Sweep()
	require.Empty(t, inherited(), "it is small")
	modeltest.ChangeRows(t, b, "insert into events select gen_random_uuid(), partner, type, subject_type, gen_random_uuid(), subject_version, occurred_at, '', null from events, generate_series(1, 11000)")
	modeltest.ExecSQL(t, b, "analyze events_before; analyze events_default")
	b.Sweep()
	require.Equal(t, []string{"events"}, inherited())
	require.Equal(t, []string{"11"}, readTexts(t, b, "select array_length(histogram_bounds::text::text[], 1)::text from pg_stats where inherited and tablename = 'events' and attname = 'id'"),
		"the bounds of 10 parts: a small sample")
	require.NoError(t, b.Service.InTx(t.Context(), actor.System(), func(ctx context.Context, tx *store.Tx) error {
		n, err := partition.AnalyzeGrown(ctx, tx)
		require.Zero(t, n)
		return err
	}))
}

// TestReadsPrunePartitions covers that a record of the feed is looked up in one partition.
func TestReadsPrunePartitions(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	b.QuoteAndBind("quake-circle", nil)
	b.Relay()
	plan := strings.Join(readTexts(t, b, `explain (analyze, costs off, timing off) select e.type from event_sequence n
		cross join lateral (select type from events where id = n.event_id and partner = n.partner offset 0) e where n.partner = 'acme' order by n.sequence limit 100`), "\n")
	require.Regexp(t, `on events_before [a-z0-9_ ]*\(actual rows`, plan)
	require.Regexp(t, `on events_default [a-z0-9_ ]*\(never executed\)`, plan)
	id := readTexts(t, b, "select id::text from events limit 1")[0]
	require.NotContains(t, strings.Join(readTexts(t, b, "explain select * from events where id = '"+id+"'"), "\n"), "events_default")
}
