package adjudication_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"parapet/model/hazard/occurrence"
	"parapet/model/modeltest"
)

func TestCandidateQueryUsesIndex(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t, modeltest.WithoutChecks())
	b.QuoteAndBind("quake-circle", nil)
	_, err := b.DB.Pool.Exec(t.Context(), `begin; set local session_replication_role = replica; -- policies without quotes
		with r as materialized (select to_jsonb(p) - 'footprint' as j from policies p),
			places as (select i % 340 - 170 as lon, i / 340 - 29 as lat from generate_series(1, 20000) i)
		insert into policies select n.* from r, places, jsonb_populate_record(null::policies, r.j || jsonb_build_object('id', gen_random_uuid(),
			'quote_id', gen_random_uuid(), 'footprint', format('((%s,%s),(%s,%s))', lon + 1, lat + 1, lon, lat))) n;
		commit; analyze policies`)
	require.NoError(t, err)
	at := b.Now()
	b.Observe(modeltest.Quake("us1", at, modeltest.Epicentre, "6.4"))
	plan, err := b.Service.Adjudication.ExplainCandidates(t.Context(), "us1")
	require.NoError(t, err)
	require.Contains(t, plan, "policies_footprint_idx")
	require.NotContains(t, plan, "Seq Scan on policies")
	b.RunJobs()
	require.Positive(t, b.CountRows()["claims"])
}

// All claims of the event are for one occurrence: a slice must not read them all.
func TestSlicesReadOnlyClaimsOfTheirPolicies(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t, modeltest.WithoutChecks())
	b.CopyPolicies(1000)
	b.Observe(modeltest.Quake("us1", b.Now().Add(-time.Hour), modeltest.Epicentre, "6.9"))
	require.NoError(t, b.Service.Adjudication.Evaluate(t.Context(), b.LastJob().(occurrence.EvaluateOccurrences)))
	var policies []uuid.UUID
	require.NoError(t, b.Service.DB.NewRaw("select policy_id from claims limit 100").Scan(t.Context(), &policies))
	require.Len(t, policies, 100)
	for _, statistics := range []string{"select", "analyze claims"} { // without and with
		modeltest.ExecSQL(t, b, statistics)
		plan, err := b.Service.Adjudication.ExplainRelevantClaims(t.Context(), "us1", policies)
		require.NoError(t, err)
		require.GreaterOrEqual(t, strings.Count(plan, "claims_policy_"), 3, "each of the three kinds is found by the policy: %s\n%s", statistics, plan)
		require.NotContains(t, plan, "claims_occurrence_", statistics)
	}
}
