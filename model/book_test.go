package model_test

import (
	"context"
	"flag"
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"parapet/internal/devpg"
	"parapet/model/claims"
	"parapet/model/insight/scenario"
	"parapet/model/kernel/actor"
	"parapet/model/kernel/store"
	"parapet/model/modeltest"
	"parapet/model/partners"
)

// A book is a database with many policies, for benchmarks and external measurements. It
// is made of a template: a database in which the domain itself quoted, bound, observed,
// decided, paid and reconciled some hundred policies. The test copies the template's rows
// many times into the book with COPY, each time with new ids, at another time and for one
// of several partners, in every text that contains them: records, events, timelines,
// receipts. It computes hash chains, receipt hashes, fingerprints and sealed account
// numbers for each copy, so reads, feeds, chain verification, payments and invariants
// work on the book as on any other database.
//
// `make book` makes a book of a million policies in a folder of the user's cache;
// modeltest.Book opens it.
var (
	bookFolder   = flag.String("book", "", "make a book in this folder instead of a small one in a database of the test's own")
	bookPolicies = flag.Int("book-policies", 60, "how many policies the book has, more or less")
	bookTemplate = flag.Int("book-template", 20, "how many policies the template has that the book repeats")
)

// bookSpan is the age of a book's oldest policies.
const bookSpan = 300 * 24 * time.Hour

// bookShares are the partners of a book and their shares of its policies in percent.
// hooli has a handful of policies.
var bookShares = []struct {
	slug  string
	share int
}{{"acme", 50}, {"globex", 30}, {"initech", 15}, {"umbrella", 5}, {"hooli", 0}}

// TestBenchmarkPortfolioKeepsInvariants makes a book and checks every invariant on it.
func TestBenchmarkPortfolioKeepsInvariants(t *testing.T) {
	t.Parallel()
	template := modeltest.New(t, modeltest.WithoutChecks())
	playBookTemplate(t, template, *bookTemplate)
	template.CheckInvariants()

	book := openNewBook(t)
	fillBook(t, template, book, max(1, *bookPolicies / *bookTemplate))
	if *bookFolder == "" { // a large book is checked by BenchmarkBook
		require.Empty(t, book.Violations())
	}
	for _, partner := range []string{"acme", "umbrella", "hooli"} {
		proof, err := book.Service.Events.VerifyChain(t.Context(), book.Operator, partner)
		require.NoError(t, err)
		require.True(t, proof.Intact, "%v", proof.Faults)
	}
	requireRailKeys(t, book)
	paid := book.ActingAs(modeltest.Partner("acme"))
	claims, err := book.Service.Claims.List(t.Context(), paid.Acme, store.Filter{Status: string(claims.ClaimClosed)}, store.PageRequest{Limit: 1})
	require.NoError(t, err)
	require.Len(t, claims.Data, 1)
	explained, err := book.Service.Scenarios.Explain(t.Context(), paid.Acme, claims.Data[0].PolicyID, scenario.OccurrenceRef{ID: &claims.Data[0].Occurrence.ID})
	require.NoError(t, err)
	require.Equal(t, *claims.Data[0].Amount, explained.Payable)
}

// requireRailKeys checks that every payout's rail key is computed from its debt.
func requireRailKeys(t *testing.T, book *modeltest.Bundle) {
	t.Helper()
	rows, err := book.DB.Pool.Query(t.Context(), `select po.partner, po.policy_id::text, po.claim_id::text, coalesce(c.occurrence_key, ''), po.installment, po.debt_digest
		from payouts po join claims c on c.id = po.claim_id limit 1000`)
	require.NoError(t, err)
	checked := 0
	for ; rows.Next(); checked++ {
		var partner, policy, claim, occurrence, digest string
		var part int
		require.NoError(t, rows.Scan(&partner, &policy, &claim, &occurrence, &part, &digest))
		require.Equal(t, modeltest.DebtDigest(partner, uuid.MustParse(policy), uuid.MustParse(claim), occurrence, part), digest)
	}
	require.NoError(t, rows.Err())
	require.Positive(t, checked)
}

// openNewBook returns the bundle of an empty book.
func openNewBook(t *testing.T) *modeltest.Bundle {
	t.Helper()
	if *bookFolder == "" {
		return modeltest.New(t, modeltest.WithoutChecks())
	}
	server, err := devpg.Start(t.Context(), devpg.Options{DataDir: *bookFolder, Fresh: true})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, server.Stop(context.WithoutCancel(t.Context()))) })
	require.NoError(t, server.CreateDatabase(t.Context(), modeltest.BookName))
	return modeltest.New(t, modeltest.WithoutChecks(), modeltest.OnServer(server.URL(modeltest.BookName)))
}

// fillBook copies the template copies times, and creates the rare records of a book:
// priced quotes, waiting payouts, a small partner.
func fillBook(t *testing.T, template, book *modeltest.Bundle, copies int) {
	t.Helper()
	for _, partner := range bookShares[2:] {
		registerBookPartner(t, book, partner.slug)
	}
	for i := range min(200, 2*copies) { // partners without policies, as every service has
		registerBookPartner(t, book, fmt.Sprintf("small-%03d", i))
	}
	c := newCopier(t, template, book, copies)
	c.readTemplate()
	c.dropIndexes()
	t.Logf("%s: copy the template %d times", time.Now().Format(time.TimeOnly), copies)
	c.copyAll()
	t.Logf("%s: create indexes", time.Now().Format(time.TimeOnly))
	c.createIndexes()
	t.Logf("%s: copy deliveries", time.Now().Format(time.TimeOnly))
	c.copyDeliveries()
	for _, slug := range []string{"acme", "hooli"} {
		playBookRarities(book.ActingAs(modeltest.Partner(slug)))
	}
	book.Relay()
	t.Logf("%s: vacuum", time.Now().Format(time.TimeOnly))
	c.execSQL(`vacuum analyze`)
	t.Logf("%s: done", time.Now().Format(time.TimeOnly))
}

func registerBookPartner(t *testing.T, book *modeltest.Bundle, slug string) {
	t.Helper()
	_, _, err := book.Service.Partners.Register(t.Context(), actor.System(), partners.Request{Slug: slug, Name: slug})
	require.NoError(t, err)
}
