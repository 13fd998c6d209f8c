package model_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"parapet/model"
	"parapet/model/claims/adjudication"
	"parapet/model/events"
	"parapet/model/kernel/actor"
	"parapet/model/kernel/event"
	"parapet/model/kernel/store"
	"parapet/model/modeltest"
	"parapet/model/wire"
)

// listedRecord has the fields of a record that filters compare.
type listedRecord struct {
	id, partner, status, product, policy, reference string
	at                                              time.Time
}

// lists are the lists with filters.
var lists = map[string]filteredList{
	"quotes": listed(func(s *model.Service) listOf[wire.Quote] { return s.Quotes.List }, func(q wire.Quote) listedRecord {
		return listedRecord{id: q.ID, partner: *q.Partner, status: q.Status, product: q.Product, reference: textOf(q.PartnerReference), at: q.CreatedAt}
	}),
	"policies": listed(func(s *model.Service) listOf[wire.StoredPolicy] { return s.Policies.List }, func(p wire.StoredPolicy) listedRecord {
		return listedRecord{id: p.ID, partner: *p.Partner, status: p.Status, product: p.Product, policy: p.ID, reference: textOf(p.PartnerReference), at: p.CreatedAt}
	}),
	"claims": listed(func(s *model.Service) listOf[wire.Claim] { return s.Claims.List }, func(c wire.Claim) listedRecord {
		return listedRecord{id: c.ID, partner: *c.Partner, status: c.Status, policy: c.PolicyID, reference: textOf(c.PartnerReference), at: c.CreatedAt}
	}),
	"payouts": listed(func(s *model.Service) listOf[wire.Payout] { return s.Claims.ListPayouts }, func(p wire.Payout) listedRecord {
		return listedRecord{id: p.ID, partner: *p.Partner, status: p.Status, policy: p.PolicyID, at: p.CreatedAt}
	}),
	"payout methods": listed(func(s *model.Service) listOf[wire.PayoutMethod] { return s.Payouts.ListMethods }, func(m wire.PayoutMethod) listedRecord {
		return listedRecord{id: m.ID, partner: *m.Partner, status: m.Status, policy: textOf(m.PolicyID), reference: textOf(m.PartnerReference), at: m.CreatedAt}
	}),
}

// filteredList reads one page of a list, and its total.
type filteredList struct {
	read  func(testing.TB, *modeltest.Bundle, actor.Actor, store.Filter, store.PageRequest) ([]listedRecord, *string, int)
	page  func(context.Context, *modeltest.Bundle, actor.Actor, store.Filter, store.PageRequest) error
	total func(context.Context, *modeltest.Bundle, actor.Actor, store.Filter) error
}

func textOf(text *string) string {
	if text == nil {
		return ""
	}
	return *text
}

// listOf is the list of one type of record.
type listOf[T any] func(context.Context, actor.Actor, store.Filter, store.PageRequest) (*store.Page[T], error)

func listed[T any](list func(*model.Service) listOf[T], of func(T) listedRecord) filteredList {
	return filteredList{
		read: func(t testing.TB, b *modeltest.Bundle, actor actor.Actor, f store.Filter, in store.PageRequest) ([]listedRecord, *string, int) {
			t.Helper()
			page, err := list(b.Service)(t.Context(), actor, f, in)
			require.NoError(t, err)
			total, _, err := page.Total(t.Context())
			require.NoError(t, err)
			records := make([]listedRecord, len(page.Data))
			for i, record := range page.Data {
				records[i] = of(record)
			}
			return records, page.NextCursor, total
		},
		page: func(ctx context.Context, b *modeltest.Bundle, actor actor.Actor, f store.Filter, in store.PageRequest) error {
			_, err := list(b.Service)(ctx, actor, f, in)
			return err
		},
		total: func(ctx context.Context, b *modeltest.Bundle, actor actor.Actor, f store.Filter) error {
			page, err := list(b.Service)(ctx, actor, f, store.PageRequest{Limit: 1})
			if err == nil {
				_, _, err = page.Total(ctx)
			}
			return err
		},
	}
}

// listAll reads all pages.
func listAll(t *testing.T, b *modeltest.Bundle, name string, actor actor.Actor, f store.Filter, order store.Order) (all []listedRecord) {
	t.Helper()
	in := store.PageRequest{Limit: 2, Order: order}
	for {
		page, next, total := lists[name].read(t, b, actor, f, in)
		all = append(all, page...)
		if next == nil {
			require.Len(t, all, total, "%s %+v", name, f)
			return all
		}
		in.Cursor = *next
	}
}

// TestFiltersOfListsAgreeWithTheirRecords compares every filter, and pairs of filters,
// with the unfiltered list.
func TestFiltersOfListsAgreeWithTheirRecords(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t, modeltest.WithoutChecks())
	template := modeltest.New(t, modeltest.WithoutChecks())
	playBookTemplate(t, template, 20)
	fillBook(t, template, b, 3)
	for name := range lists {
		for _, actor := range []actor.Actor{b.Operator, b.Acme, modeltest.Partner("hooli"), modeltest.Partner("small-001")} {
			whole := listAll(t, b, name, actor, store.Filter{}, store.NewestFirst)
			require.True(t, slices.IsSortedFunc(whole, func(x, y listedRecord) int { return y.at.Compare(x.at) }), "newest first")
			backwards := listAll(t, b, name, actor, store.Filter{}, store.OldestFirst)
			slices.Reverse(backwards)
			require.Equal(t, whole, backwards)
			for _, f := range filtersOf(name, whole) {
				want := slices.DeleteFunc(slices.Clone(whole), func(r listedRecord) bool { return !matches(f, r) })
				require.Equal(t, ids(want), ids(listAll(t, b, name, actor, f, store.NewestFirst)), "%s of %s: %+v", name, actor.Name, f)
			}
		}
	}
}

func ids(records []listedRecord) []string {
	ids := []string{}
	for _, r := range records {
		ids = append(ids, r.id)
	}
	return ids
}

func matches(f store.Filter, r listedRecord) bool {
	return (f.Status == "" || f.Status == r.status) && (f.Partner == "" || f.Partner == r.partner) && (f.Product == "" || r.product == "" || f.Product == r.product) &&
		(f.PolicyID == "" || f.PolicyID == r.policy) && (f.PartnerReference == "" || f.PartnerReference == r.reference) &&
		(f.CreatedFrom == nil || !r.at.Before(*f.CreatedFrom)) && (f.CreatedTo == nil || r.at.Before(*f.CreatedTo))
}

// filtersOf returns filters that match some records and filters that match none.
func filtersOf(name string, whole []listedRecord) []store.Filter {
	statuses := map[string][]string{
		"quotes": {"priced", "bound", "expired"}, "policies": {"active", "expired", "exhausted", "archived"}, "claims": {"closed", "approved", "declined", "deferred"},
		"payouts": {"blocked", "reconciled", "returned"}, "payout methods": {"pending", "verified", "rejected"},
	}[name]
	filters := []store.Filter{{Partner: "acme"}, {Partner: "unknown"}}
	for _, status := range statuses {
		filters = append(filters, store.Filter{Status: status}, store.Filter{Status: status, Partner: "acme"})
		if len(whole) > 2 {
			at := whole[len(whole)/2].at
			filters = append(filters, store.Filter{Status: status, CreatedFrom: &at}, store.Filter{Status: status, CreatedTo: &at})
		}
	}
	if name == "quotes" || name == "policies" {
		for _, product := range []string{"quake-circle", "cyclone-circle", "rain-deficit", "unknown"} {
			filters = append(filters, store.Filter{Product: product}, store.Filter{Product: product, Status: statuses[0]})
		}
	}
	if len(whole) > 2 {
		first, last := whole[len(whole)-1].at, whole[0].at
		middle := whole[len(whole)/2]
		filters = append(filters, store.Filter{CreatedFrom: &middle.at}, store.Filter{CreatedTo: &middle.at}, store.Filter{CreatedFrom: &first, CreatedTo: &last})
		if name != "quotes" && name != "policies" && middle.policy != "" {
			filters = append(filters, store.Filter{PolicyID: middle.policy}, store.Filter{PolicyID: middle.policy, Status: middle.status})
		}
		if middle.reference != "" {
			filters = append(filters, store.Filter{PartnerReference: middle.reference}, store.Filter{PartnerReference: middle.reference, Status: statuses[0]})
		}
	}
	return filters
}

func TestClaimsAreFilteredByTheProductOfTheirPolicy(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	policy := b.QuoteAndBind("quake-circle", nil)
	b.Observe(modeltest.Quake("us1", b.Now(), modeltest.Epicentre, "6.4"))
	b.RunJobs()
	_, _, err := b.Service.Adjudication.Open(t.Context(), b.Acme, adjudication.ClaimRequest{PolicyID: policy.ID})
	require.NoError(t, err)
	for product, want := range map[string]int{"quake-circle": 2, "cyclone-circle": 0} {
		page, err := b.Service.Claims.List(t.Context(), b.Acme, store.Filter{Product: product}, store.PageRequest{})
		require.NoError(t, err)
		require.Len(t, page.Data, want, product)
	}
}

func TestFeedOfSomeTypesAgreesWithTheFeed(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t, modeltest.WithoutChecks())
	b.PlayFullStory()
	read := func(f events.Filter) (ids []string) {
		in := store.PageRequest{Limit: 3}
		for {
			page, err := b.Service.Events.List(t.Context(), b.Acme, f, in)
			require.NoError(t, err)
			for _, event := range page.Data {
				ids = append(ids, fmt.Sprintf("%d %s", event.Sequence, event.Type))
			}
			if page.NextCursor == nil {
				return ids
			}
			in.Cursor = *page.NextCursor
		}
	}
	whole := read(events.Filter{})
	for _, types := range [][]event.Type{{event.QuoteCreated}, {event.PolicyArchived, event.ClaimOpened}, {event.PolicyCancelled, event.QuoteBound, event.ClaimOpened}} {
		for _, after := range []int64{0, 20} {
			want := slices.DeleteFunc(slices.Clone(whole), func(id string) bool {
				var sequence int64
				var kind string
				_, err := fmt.Sscanf(id, "%d %s", &sequence, &kind)
				require.NoError(t, err)
				return sequence <= after || !slices.Contains(types, event.Type(kind))
			})
			require.Equal(t, want, read(events.Filter{Types: types, After: after}))
		}
	}
}
