package graph_test

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"parapet/graph/node"
	"parapet/model/modeltest"
)

// book fills the database: policies of acme, a third of them without a claim, a
// third with one and a third with two; each claim has its payout and eight entries
// of its timeline. They are copies of one policy that the domain bound.
const book = `with made as (
		select i, ('02900000-0000-7000-8000-' || lpad(to_hex(i), 12, '0'))::uuid as id from generate_series(1, %d) i
	), quoted as (
		insert into quotes select m.id, q.partner, q.version, q.created_at, q.updated_at, null, q.metadata, q.status, q.product, q.product_version,
			q.context, q.ignored_context, q.cover, q.terms_hash, q.price, q.basis, q.history, q.premium_amount, q.currency, q.expires_at, m.id, q.offer
		from quotes q, made m where q.policy_id is not null returning 1
	), bound as (
		insert into policies select m.id, p.partner, p.version, p.created_at, p.updated_at, 'P-' || m.i, p.metadata, p.status, m.id, p.product, p.product_version,
			p.policyholder, p.cover, p.terms_hash, p.currency, p.premium_amount, p.limit_amount, p.limit_remaining, p.effective_at, p.payable_from, p.expires_at,
			p.reportable_until, p.cancelled_at, p.kind, p.footprint, p.station
		from policies p, made m returning 1
	), keyed as (
		insert into policy_keys select m.id, p.partner, m.id, 'P-' || m.i from policies p, made m returning 1
	), opened as (
		select m.id as policy, ('02910000-0000-7000-800' || n || '-' || lpad(to_hex(m.i), 12, '0'))::uuid as id, p.partner, p.created_at as at, p.currency, p.product, n
		from policies p, made m, generate_series(1, 2) n where n <= m.i %% 3
	), claimed as (
		insert into claims (id, partner, created_at, updated_at, policy_id, status, origin, description, currency, requested_amount, amount, outcome, reason_codes, decided_at, opened_at, timeline_sequence, policy_sequence, product)
		select id, partner, at, at, policy, 'approved', 'approval', 'The house is cracked.', currency, 125000, 100000, 'approved', '{operator_decision}', at, at, 8, n, product from opened returning 1
	), paid as (
		insert into payouts (id, partner, created_at, updated_at, claim_id, policy_id, status, amount, currency, attempts, provider, provider_reference, released_at, claim_sequence, debt_digest)
		select id, partner, at, at, id, policy, 'released', 100000, currency, 1, 'simulator', 'sim-' || id, at, 1, left(md5(id::text), 16) from opened returning 1
	)
	insert into timeline_entries select gen_random_uuid(), partner, id, step, 'claim.opened', at + step * interval '1 second', 'system', 'parapet', 'Sentence ' || step || ' of what happened to this claim.',
		json_build_object('claim', id, 'step', step), id
	from opened, generate_series(1, 8) step`

// dashboard is a console's query for a page of policies.
const dashboard = `query Dashboard($n: Int!) { policies(first: $n) {
	nodes {
		id partnerReference status productKey premium { amount currency } limit { amount currency } limitRemaining { amount currency } effectiveAt expiresAt
		claims(first: 10) { nodes {
			id status origin description amount { amount currency } openedAt closedAt
			payouts { id status amount { amount currency } blockedReason releasedAt }
			timeline(last: 5) { nodes { sequence kind at summary } }
		} }
	}
	pageInfo { hasNextPage endCursor }
} }`

// createRecords writes the book, mostly without the checks of foreign keys.
func (d *fixture) createRecords(t testing.TB, policies int) {
	t.Helper()
	d.QuoteAndBind("quake-circle", nil)
	tx, err := d.DB.Pool.Begin(t.Context())
	require.NoError(t, err)
	for _, text := range []string{"set local session_replication_role = replica", fmt.Sprintf(book, policies)} {
		_, err = tx.Exec(t.Context(), text)
		require.NoError(t, err)
	}
	require.NoError(t, tx.Commit(t.Context()))
	_, err = d.DB.Pool.Exec(t.Context(), "vacuum analyze policies, policy_keys, claims, payouts, timeline_entries")
	require.NoError(t, err)
}

// When one partner has most policies, the primary key looks like the shortest way to the
// newest of them, also for a status and a product that it does not have.
func TestListsOfPoliciesReadTheirIndexes(t *testing.T) {
	t.Parallel()
	d := newFixture(t, modeltest.WithoutChecks())
	d.createRecords(t, 5000)
	d.send(t, graphqlRequest{document: dashboard, variables: map[string]any{"n": 2}})
	plans := d.KeptPlans("SELECT%policies%policy_keys%")
	require.NotEmpty(t, plans)
	for _, plan := range plans {
		require.Contains(t, plan, "Index Only Scan Backward using policy_keys_list_idx")
	}
	d.send(t, graphqlRequest{document: strings.Replace(dashboard, "first: $n", "first: $n, filter: {status: EXPIRED}", 1), variables: map[string]any{"n": 2}})
	plans = d.KeptPlans("SELECT%policies%of_product%")
	require.NotEmpty(t, plans)
	for _, plan := range plans {
		require.Contains(t, plan, "policies_status_idx on policies p_1")
		require.Regexp(t, `Index Cond: \(\(partner = .* AND \(status = .* AND \(product >= .* AND \(product <= `, plan)
		require.NotContains(t, plan, "Sort Key: p_1.product", "it stops when it has enough")
	}
}

// sealed are cursors, whose text differs each time.
var sealed = regexp.MustCompile(`"(endCursor|startCursor|cursor)":"[^"]*"`)

// TestFastJSONEqualsGqlgen runs the same query with and without a member that is not
// plain, so that gqlgen writes everything.
func TestFastJSONEqualsGqlgen(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	d.observeQuake(t, 3)
	for _, document := range []string{dashboard, fullDocument} {
		all := map[string]any{"n": 50}
		plain := d.send(t, graphqlRequest{document: document, variables: all})
		at := strings.Index(document, "policies(first: $n) {") + len("policies(first: $n) {")
		whole := d.send(t, graphqlRequest{document: document[:at] + " aside: nodes { payoutMethods(first: 1, order: NEWEST_FIRST) { totalCount } } " + document[at:], variables: all})
		const aside = `"aside":[{"payoutMethods":{"totalCount":1}},{"payoutMethods":{"totalCount":1}},{"payoutMethods":{"totalCount":1}}],`
		require.Contains(t, string(whole.Data), aside, whole.body)
		require.Equal(t, sealed.ReplaceAllString(strings.Replace(string(whole.Data), aside, "", 1), ""), sealed.ReplaceAllString(string(plain.Data), ""))
	}
}

// A direct call that fails is repeated by gqlgen, so that only its count shows it.
//
//nolint:paralleltest // it replaces what the handlers of other tests use
func TestRelationsOfTheDashboardAreCalledDirectly(t *testing.T) {
	succeeded := map[string]int{}
	for name, call := range node.DirectCalls {
		t.Cleanup(func() { node.DirectCalls[name] = call })
		node.DirectCalls[name] = func(ctx context.Context, record any, args []any) (any, error) {
			result, err := call(ctx, record, args)
			if err == nil {
				succeeded[name]++
			}
			return result, err
		}
	}
	d := newFixture(t)
	d.observeQuake(t, 2)
	answer := d.send(t, graphqlRequest{document: dashboard, variables: map[string]any{"n": 2}})
	require.Contains(t, string(answer.Data), `"timeline":{"nodes":[{`)
	require.Equal(t, map[string]int{"Policy.claims": 2, "Claim.payouts": 2, "Claim.timeline": 2, "ClaimConnection.nodes": 2, "TimelineConnection.nodes": 2, "Policy.productKey": 2}, succeeded)
}
