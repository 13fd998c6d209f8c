package adjudication_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"parapet/model/claims/adjudication"
	"parapet/model/hazard/occurrence"
	"parapet/model/hazard/trigger"
	"parapet/model/insight/progress"
	"parapet/model/kernel/actor"
	"parapet/model/kernel/apperr"
	"parapet/model/kernel/store"
	"parapet/model/modeltest"
	"parapet/model/money"
	"parapet/model/wire"
)

// occurrenceID returns the id of the occurrence of an event of usgs.
func occurrenceID(t *testing.T, b *modeltest.Bundle, event string) string {
	t.Helper()
	row := new(occurrence.OccurrenceRow)
	require.NoError(t, b.Service.DB.NewSelect().Model(row).Where("source_event_id = ?", event).Scan(t.Context()))
	return store.ResourceOccurrence.FormatID(row.ID)
}

// progressFor returns the progress of an event of usgs as an actor sees it. It names the
// event twice: the progress of one id may be that of a slow read a moment ago.
func progressFor(t *testing.T, b *modeltest.Bundle, who actor.Actor, event string) *wire.OccurrenceProgress {
	t.Helper()
	id := occurrenceID(t, b, event)
	found := modeltest.Must(b.Service.Progress.ByID(t.Context(), who, []string{id, id}))
	require.Contains(t, found, id)
	return found[id]
}

// requireCounts checks status, candidates, decided and claims.
func requireCounts(t *testing.T, p *wire.OccurrenceProgress, status progress.Status, candidates, decided, claims int64) {
	t.Helper()
	require.Equal(t, string(status), p.Status)
	require.Equal(t, []int64{candidates, decided, claims}, []int64{p.Candidates, p.Decided, p.ClaimsOpened})
}

// amounts is a line of a progress without its counts.
func amounts(partner, currency string, owed, pending, blocked, released int64) wire.ProgressLine {
	in := func(amount int64) money.Money { return money.New(amount, currency) }
	return wire.ProgressLine{Partner: partner, Currency: currency, Owed: in(owed), Pending: in(pending), Blocked: in(blocked), Released: in(released)}
}

func withCounts(line wire.ProgressLine, candidates, decided, claims int64) wire.ProgressLine {
	line.Candidates, line.Decided, line.ClaimsOpened = candidates, decided, claims
	return line
}

// bindProgressBook binds a policy of acme that can be paid, one in another currency
// without an account, and one of globex.
func bindProgressBook(b *modeltest.Bundle) (globex actor.Actor) {
	paid := b.QuoteAndBind("quake-circle", nil)
	b.RecordPayoutMethod(modeltest.PolicyIBANMethod(paid.ID))
	b.QuoteAndBind("quake-circle", modeltest.Context{"limit": map[string]any{"amount": 10_000_000, "currency": "EUR"}})
	globex = b.Globex
	b.ActingAs(globex).QuoteAndBind("quake-circle", nil)
	b.RunJobs()
	b.AdvanceClock(24 * time.Hour)
	return globex
}

// failClaims makes each insert of a claim fail as if the database went away, until the
// returned function is called.
func failClaims(t *testing.T, b *modeltest.Bundle) (mend func()) {
	t.Helper()
	run := func(text string) {
		_, err := b.DB.Pool.Exec(t.Context(), text)
		require.NoError(t, err)
	}
	run("create function absent() returns trigger language plpgsql as $$ begin raise exception 'no' using errcode = '57P01'; end $$; create trigger absent before insert on claims execute function absent()")
	return func() { run("drop trigger absent on claims") }
}

// requireMatchingStats checks the figures of the metrics.
func requireMatchingStats(t *testing.T, b *modeltest.Bundle, candidates, undecided int64) {
	t.Helper()
	stats, err := b.Service.Operations.HealthStats(t.Context(), actor.System())
	require.NoError(t, err)
	require.Equal(t, []int64{candidates, undecided}, []int64{stats.MatchingCandidates, stats.UndecidedPolicies})
}

func TestProgressShowsEachStage(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	globex := bindProgressBook(b)
	b.Observe(modeltest.Quake("us1", b.Now(), modeltest.Epicentre, "6.4"))
	job := b.LastJob().(occurrence.EvaluateOccurrences)
	waiting := progressFor(t, b, b.Operator, "us1")
	requireCounts(t, waiting, progress.Waiting, 0, 0, 0)
	require.Empty(t, waiting.Lines)
	require.False(t, waiting.Settled)

	mend := failClaims(t, b)
	require.Error(t, b.Service.Adjudication.Evaluate(t.Context(), job))
	mend()
	deciding := progressFor(t, b, b.Operator, "us1")
	requireCounts(t, deciding, progress.Deciding, 3, 0, 0)
	require.False(t, deciding.Settled)
	requireMatchingStats(t, b, 3, 3)
	none := func(partner, currency string) wire.ProgressLine {
		return withCounts(amounts(partner, currency, 0, 0, 0, 0), 1, 0, 0)
	}
	require.Equal(t, []wire.ProgressLine{none("acme", "EUR"), none("acme", "USD"), none("globex", "USD")}, deciding.Lines)

	_, err := b.Service.Adjudication.DecideSlices(t.Context())
	require.NoError(t, err)
	complete := progressFor(t, b, b.Operator, "us1")
	requireCounts(t, complete, progress.Complete, 3, 3, 3)
	require.False(t, complete.Settled, "a payout is on its way")
	requireMatchingStats(t, b, 0, 0)
	acme := []wire.ProgressLine{
		withCounts(amounts("acme", "EUR", 2_000_000, 0, 2_000_000, 0), 1, 1, 1),
		withCounts(amounts("acme", "USD", 2_000_000, 2_000_000, 0, 0), 1, 1, 1),
	}
	other := withCounts(amounts("globex", "USD", 2_000_000, 0, 2_000_000, 0), 1, 1, 1)
	require.Equal(t, append(acme, other), complete.Lines)

	b.RunJobs()
	acme[1] = withCounts(amounts("acme", "USD", 2_000_000, 0, 0, 2_000_000), 1, 1, 1)
	settled := progressFor(t, b, b.Operator, "us1")
	require.Equal(t, append(acme, other), settled.Lines)
	require.True(t, settled.Settled, "the others are blocked")

	own := progressFor(t, b, b.Acme, "us1")
	requireCounts(t, own, progress.Complete, 2, 2, 2)
	require.Equal(t, acme, own.Lines, "a partner sees its own figures only")
	own = progressFor(t, b, globex, "us1")
	requireCounts(t, own, progress.Complete, 1, 1, 1)
	require.Equal(t, []wire.ProgressLine{other}, own.Lines)
}

// The state of one partner says nothing about the policies of another.
func TestProgressOfPartnerIsCompleteWhileAnotherWaits(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	globex := bindProgressBook(b)
	b.Observe(modeltest.Quake("us1", b.Now(), modeltest.Epicentre, "6.4"))
	b.RunJobs()
	_, err := b.DB.Pool.Exec(t.Context(), "update matching_slices set done_at = null; delete from matching_figures where partner = 'globex'")
	require.NoError(t, err)
	require.Equal(t, "deciding", progressFor(t, b, b.Acme, "us1").Status)
	require.Equal(t, "complete", progressFor(t, b, globex, "us1").Status)
	b.Sweep()
	b.RunJobs()
}

func TestProgressFollowsHalvedSlices(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	policies := bindMany(b, "quake-circle", 4)
	b.ActingAs(b.Globex).QuoteAndBind("quake-circle", nil)
	_, err := b.DB.Pool.Exec(t.Context(), "update policies set cover = jsonb_set(cover::jsonb, '{limit}', '\"much\"')::json where id = $1", modeltest.DatabaseID(policies[2]))
	require.NoError(t, err)
	b.Observe(modeltest.Quake("us1", b.Now(), modeltest.Epicentre, "6.4"))
	require.Len(t, decideUntilIsolated(t, b), 1)
	p := progressFor(t, b, b.Operator, "us1")
	requireCounts(t, p, progress.Deciding, 5, 4, 4)
	requireMatchingStats(t, b, 5, 1)
	require.Equal(t, []int64{4, 3, 1, 1}, []int64{p.Lines[0].Candidates, p.Lines[0].Decided, p.Lines[1].Candidates, p.Lines[1].Decided})
	_, err = b.DB.Pool.Exec(t.Context(), "update policies set cover = (select cover from policies where id = $1) where id = $2", modeltest.DatabaseID(policies[0]), modeltest.DatabaseID(policies[2]))
	require.NoError(t, err)
	b.AdvanceClock(15 * time.Minute)
	b.Sweep()
	b.RunJobs()
	requireCounts(t, progressFor(t, b, b.Operator, "us1"), progress.Complete, 5, 5, 5)
}

func TestProgressOfRevisionCountsNewestVersion(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	bindProgressBook(b)
	at := b.Now()
	b.Observe(modeltest.Quake("us1", at, modeltest.Epicentre, "6.4"))
	b.RunJobs()
	b.QuoteAndBind("quake-circle", nil) // its cover begins later
	b.Observe(modeltest.Quake("us1", at, modeltest.Epicentre, "7.1"))
	job := b.LastJob().(occurrence.EvaluateOccurrences)
	p := progressFor(t, b, b.Operator, "us1")
	requireCounts(t, p, progress.Waiting, 0, 0, 3)
	require.EqualValues(t, 2, p.Version)
	mend := failClaims(t, b)
	_ = b.Service.Adjudication.Evaluate(t.Context(), job)
	mend()
	b.RunJobs()
	requireCounts(t, progressFor(t, b, b.Operator, "us1"), progress.Complete, 3, 3, 3)
	var versions int
	require.NoError(t, b.DB.Pool.QueryRow(t.Context(), "select count(distinct version) from matching_figures").Scan(&versions))
	require.Equal(t, 1, versions, "figures of older versions are deleted")
}

func TestRepeatedMatchingCountsEachPolicyOnce(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	policies := bindMany(b, "quake-circle", 3)
	b.Observe(modeltest.Quake("us1", b.Now(), modeltest.Epicentre, "6.4"))
	job := b.LastJob().(occurrence.EvaluateOccurrences)
	b.RunJobs()
	for range 2 {
		require.NoError(t, b.Service.Adjudication.Evaluate(t.Context(), job))
		requireCounts(t, progressFor(t, b, b.Operator, "us1"), progress.Complete, 3, 3, 3)
	}
	again := adjudication.EvaluatePolicies{Occurrence: occurrenceID(t, b, "us1"), Policies: []string{policies[0].ID}}
	require.NoError(t, b.Service.Adjudication.EvaluatePolicies(t.Context(), again))
	requireCounts(t, progressFor(t, b, b.Operator, "us1"), progress.Complete, 3, 3, 3)
	require.Equal(t, 3, countCandidates(t, b))
	late := bindMany(b, "quake-circle", 1)[0]
	_, err := b.DB.Pool.Exec(t.Context(), "update policies set effective_at = $1, payable_from = $1 where id = $2", b.Now().Add(-time.Hour), modeltest.DatabaseID(late))
	require.NoError(t, err)
	second := job
	second.After = "9/9"
	for range 2 {
		require.NoError(t, b.Service.Adjudication.Evaluate(t.Context(), second))
		requireCounts(t, progressFor(t, b, b.Operator, "us1"), progress.Complete, 4, 4, 4)
	}
	require.Equal(t, 4, countCandidates(t, b))
	require.NoError(t, b.Service.Adjudication.Evaluate(t.Context(), job))
	requireCounts(t, progressFor(t, b, b.Operator, "us1"), progress.Complete, 4, 4, 4)
	require.Equal(t, 4, countCandidates(t, b))
	b.RunJobs()
}

// countCandidates returns the candidates of the only matching. Payouts of an event with few
// go ahead of those of a large one.
func countCandidates(t *testing.T, b *modeltest.Bundle) (n int) {
	t.Helper()
	require.NoError(t, b.DB.Pool.QueryRow(t.Context(), "select candidates from matchings").Scan(&n))
	return n
}

// A slice that repeats policies has no figures. The next pass must count these policies
// although they wait in it.
func TestPolicyThatWaitsInRepeatedSliceIsCounted(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	policies := bindMany(b, "quake-circle", 2)
	b.Observe(modeltest.Quake("us1", b.Now(), modeltest.Epicentre, "6.4"))
	job := b.LastJob().(occurrence.EvaluateOccurrences)
	mend := failClaims(t, b)
	require.Error(t, b.Service.Adjudication.EvaluatePolicies(t.Context(), adjudication.EvaluatePolicies{Occurrence: occurrenceID(t, b, "us1"), Policies: []string{policies[0].ID}}))
	requireCounts(t, progressFor(t, b, b.Operator, "us1"), progress.Waiting, 0, 0, 0)
	require.Error(t, b.Service.Adjudication.Evaluate(t.Context(), job))
	mend()
	requireCounts(t, progressFor(t, b, b.Operator, "us1"), progress.Deciding, 2, 0, 0)
	b.RunJobs()
	_, err := b.Service.Adjudication.DecideSlices(t.Context())
	require.NoError(t, err)
	requireCounts(t, progressFor(t, b, b.Operator, "us1"), progress.Complete, 2, 2, 2)
}

func TestProgressOutlivesSlices(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	bindMany(b, "quake-circle", 2)
	b.Observe(modeltest.Quake("us1", b.Now(), modeltest.Epicentre, "6.4"))
	job := b.LastJob().(occurrence.EvaluateOccurrences)
	b.RunJobs()
	b.AdvanceClock(25 * time.Hour)
	b.Sweep()
	require.Empty(t, slicesOf(t, b))
	requireCounts(t, progressFor(t, b, b.Operator, "us1"), progress.Complete, 2, 2, 2)
	require.NoError(t, b.Service.Adjudication.Evaluate(t.Context(), job))
	requireCounts(t, progressFor(t, b, b.Operator, "us1"), progress.Complete, 2, 2, 2)
	b.RunJobs()
}

func TestProgressOfEventWithoutPolicies(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	b.Observe(modeltest.Quake("us1", b.Now(), modeltest.Epicentre, "6.4"))
	b.RunJobs()
	p := progressFor(t, b, b.Acme, "us1")
	requireCounts(t, p, progress.Complete, 0, 0, 0)
	require.True(t, p.Settled)
	require.Equal(t, []wire.ProgressLine{}, p.Lines)
}

func TestProgressOfMergedOccurrencesIsOne(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	b.QuoteAndBind("quake-circle", nil)
	modeltest.ObserveQuake(b, "us1", "6.4", trigger.Preliminary)
	quake := modeltest.ObserveQuake(b, "us2", "6.4", trigger.Preliminary)
	quake.Stage, quake.Aliases = trigger.Final, []string{"us1"}
	b.Observe(quake)
	b.RunJobs()
	one, two := progressFor(t, b, b.Acme, "us1"), progressFor(t, b, b.Acme, "us2")
	require.Equal(t, one, two)
	requireCounts(t, one, progress.Complete, 1, 1, 2)
	require.Equal(t, int64(2_000_000), one.Lines[0].Owed.Amount, "one of the two claims was declined")
}

func TestProgressIsHiddenLikeItsOccurrence(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	b.QuoteAndBind("quake-circle", nil)
	_, err := b.Service.Occurrences.RecordObservations(t.Context(), b.Acme, []wire.ObservationInput{modeltest.Quake("us1", b.Now(), modeltest.Epicentre, "6.4")}, true)
	require.NoError(t, err)
	b.RunJobs()
	id := occurrenceID(t, b, "us1")
	requireCounts(t, progressFor(t, b, b.Acme, "us1"), progress.Complete, 1, 1, 1)
	unscoped := b.Acme
	unscoped.Scopes = []actor.Scope{actor.ScopePoliciesRead}
	for who, unknown := range map[string]struct {
		id    string
		actor actor.Actor
		want  apperr.Code
	}{
		"another partner's rehearsal": {id, b.Globex, apperr.CodeNotFound},
		"an unknown id":               {"occ_01m7x6n10jewfsb9zcqnfs2052", b.Operator, apperr.CodeNotFound},
		"a malformed id":              {"occ_", b.Operator, apperr.CodeNotFound},
		"a token without the scope":   {id, unscoped, apperr.CodeInsufficientScope},
	} {
		_, err := b.Service.Progress.Get(t.Context(), unknown.actor, unknown.id)
		require.Equal(t, unknown.want, apperr.CodeOf(err), who)
	}
}

func TestProgressShowsBoundedLinesAndAllTotals(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	b.Observe(modeltest.Quake("us1", b.Now(), modeltest.Epicentre, "6.4"))
	b.RunJobs()
	insert := "insert into matching_figures select occurrence_id, version, 1, 'partner ' || n, 'USD', 2 from matchings, generate_series($1::integer, $2) n"
	_, err := b.DB.Pool.Exec(t.Context(), insert, 1, progress.MaxLines)
	require.NoError(t, err)
	p := progressFor(t, b, b.Operator, "us1")
	require.Len(t, p.Lines, progress.MaxLines)
	require.False(t, p.HasMore)
	_, err = b.DB.Pool.Exec(t.Context(), insert, progress.MaxLines+1, progress.MaxLines+2)
	require.NoError(t, err)
	p = progressFor(t, b, b.Operator, "us1")
	require.True(t, p.HasMore)
	require.Len(t, p.Lines, progress.MaxLines)
	requireCounts(t, p, progress.Complete, 2*progress.MaxLines+4, 2*progress.MaxLines+4, 0)
}
