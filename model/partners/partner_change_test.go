package partners_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"parapet/model/audit"
	"parapet/model/kernel/actor"
	"parapet/model/kernel/apperr"
	"parapet/model/kernel/store"
	"parapet/model/modeltest"
	"parapet/model/partners"
	"parapet/model/wire"
)

func TestSlugHasLowerCaseLettersDigitsAndHyphens(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	for slug, good := range map[string]bool{
		"a": true, "9": true, "a-b-": true, strings.Repeat("a", 63): true,
		"": false, strings.Repeat("a", 64): false, "-a": false, "A": false, "a_b": false, "a/b": false, "é": false, "a\n": false, "a\x00": false, "\xff": false,
	} {
		_, _, err := b.Service.Partners.Register(t.Context(), b.Operator, partners.Request{Slug: slug, Name: "Partner"})
		_, read := b.Service.Partners.Get(t.Context(), b.Operator, slug)
		if good {
			require.NoError(t, err, "%q", slug)
			require.NoError(t, read)
			continue
		}
		require.Equal(t, []string{"/slug"}, modeltest.FieldPointers(modeltest.DomainError(t, err)), "%q", slug)
		require.Equal(t, apperr.CodeNotFound, apperr.CodeOf(read), "%q", slug)
	}
	_, created, err := b.Service.Partners.Register(t.Context(), b.Operator, partners.Request{Slug: "longest", Name: strings.Repeat("é", 200)})
	require.NoError(t, err)
	require.True(t, created)
}

func TestPartnersAreManagedByOperatorsOnly(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	in := partners.StatusRequest{Slug: "globex", Reason: "The contract ended."}
	for name, try := range map[string]func(actor.Actor) error{
		"get":     func(a actor.Actor) error { _, err := b.Service.Partners.Get(t.Context(), a, "globex"); return err },
		"disable": func(a actor.Actor) error { _, err := b.Service.Partners.Disable(t.Context(), a, in); return err },
		"enable":  func(a actor.Actor) error { _, err := b.Service.Partners.Enable(t.Context(), a, in); return err },
	} {
		for _, caller := range []actor.Actor{b.Acme, b.Source, b.Globex} {
			require.Equal(t, apperr.CodeInsufficientScope, apperr.CodeOf(try(caller)), name)
		}
	}
	require.Empty(t, modeltest.ListAudit(t, b, audit.Filter{}))
	in.Slug = "unknown"
	_, err := b.Service.Partners.Disable(t.Context(), b.Operator, in)
	require.Equal(t, apperr.CodeNotFound, apperr.CodeOf(err))
}

func TestStatusChangeIsRecordedWithItsReasonOnce(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	before := modeltest.Must(b.Service.Partners.Get(t.Context(), b.Operator, "acme"))
	b.AdvanceClock(time.Hour)
	in := partners.StatusRequest{Slug: "acme", Reason: "The contract ended."}
	for _, step := range []struct {
		change  func(context.Context, actor.Actor, partners.StatusRequest) (*wire.Partner, error)
		status  string
		version int64
	}{
		{b.Service.Partners.Enable, "enabled", 1}, {b.Service.Partners.Disable, "disabled", 2}, {b.Service.Partners.Disable, "disabled", 2}, {b.Service.Partners.Enable, "enabled", 3},
	} {
		partner := modeltest.Must(step.change(t.Context(), b.Operator, in))
		require.Equal(t, []any{step.status, step.version, before.CreatedAt}, []any{partner.Status, partner.Version, partner.CreatedAt})
		require.Equal(t, step.version > 1, partner.UpdatedAt.After(before.UpdatedAt))
		require.Equal(t, partner, modeltest.Must(b.Service.Partners.Get(t.Context(), b.Operator, "acme")))
	}
	var actions string
	require.NoError(t, b.DB.Pool.QueryRow(t.Context(), "select string_agg(operation || ' ' || note, ', ' order by id) from operator_actions where partner = 'acme' and author <> 'parapet'").Scan(&actions))
	require.Equal(t, "disable_partner The contract ended., enable_partner The contract ended.", actions)
}

func TestRegistrationIsRecordedOnce(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	caller := modeltest.WithKey(b.Operator, "k1", "a")
	in := partners.Request{Slug: "initech", Name: "Initech"}
	first, _, err := b.Service.Partners.Register(t.Context(), caller, in)
	require.NoError(t, err)
	_, _, err = b.Service.Partners.Register(t.Context(), caller, in)
	replay := new(store.Replay)
	require.ErrorAs(t, err, &replay)
	require.Equal(t, 201, replay.Status)
	require.Equal(t, first.ID, replay.ResourceID)
	again := modeltest.WithKey(b.Operator, "k2", "a")
	_, created, err := b.Service.Partners.Register(t.Context(), again, in)
	require.NoError(t, err)
	require.False(t, created)
	_, _, err = b.Service.Partners.Register(t.Context(), again, in)
	require.ErrorAs(t, err, &replay)
	require.Equal(t, 200, replay.Status, "it existed")
	var recorded int
	require.NoError(t, b.DB.Pool.QueryRow(t.Context(), "select count(*) from operator_actions where partner = 'initech' and operation = 'register_partner'").Scan(&recorded))
	require.Equal(t, 1, recorded)
}

func TestPartnersAreListedBySlug(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	for _, slug := range []string{"zeta", "beta", "a-1"} {
		_, _, err := b.Service.Partners.Register(t.Context(), b.Operator, partners.Request{Slug: slug, Name: slug})
		require.NoError(t, err)
	}
	var slugs []string
	in := store.PageRequest{Limit: 2}
	for {
		page := modeltest.Must(b.Service.Partners.List(t.Context(), b.Operator, in))
		total, more, err := page.Total(t.Context())
		require.NoError(t, err)
		require.Equal(t, 5, total)
		require.False(t, more)
		for _, partner := range page.Data {
			slugs = append(slugs, partner.Slug)
		}
		if !page.HasMore {
			break
		}
		in.Cursor = *page.NextCursor
	}
	require.Equal(t, []string{"a-1", "acme", "beta", "globex", "zeta"}, slugs)
	_, err := b.Service.Partners.List(t.Context(), b.Operator, store.PageRequest{Cursor: "x"})
	require.Equal(t, apperr.CodeCursorInvalid, apperr.CodeOf(err))
}

func TestCacheKeepsValuesAndForgetsErrors(t *testing.T) {
	t.Parallel()
	var cache partners.TtlCache[int]
	loads := 0
	load := func(err error) func(context.Context) (int, error) {
		return func(context.Context) (int, error) { loads++; return loads, err }
	}
	errDown := errors.New("down")
	_, err := cache.Get(t.Context(), "acme", load(errDown))
	require.ErrorIs(t, err, errDown)
	value, err := cache.Get(t.Context(), "acme", load(nil))
	require.NoError(t, err)
	require.Equal(t, 2, value, "the error was not kept")
	value, err = cache.Get(t.Context(), "globex", load(nil))
	require.NoError(t, err)
	require.Equal(t, 3, value, "another partner has another value")
}

func TestQuotaGrantsWhatIsLeft(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	lease := func(perSecond, want int) int {
		grant, err := b.Service.Partners.Quota(perSecond, 10).Lease(t.Context(), "partner/acme", want)
		require.NoError(t, err)
		require.Equal(t, time.Second, grant.Until)
		return grant.Granted
	}
	setBucket := func(tokens, age string) {
		modeltest.ExecSQL(t, b, "update rate_buckets set tokens = "+tokens+", refilled_at = clock_timestamp() - interval '"+age+"'")
	}
	require.Equal(t, 7, lease(0, 7))
	require.Equal(t, 3, lease(0, 7))
	require.Zero(t, lease(0, 1))
	setBucket("0.9", "1 hour")
	require.Zero(t, lease(0, 1), "parts of a request are not granted")
	setBucket("0.9", "4 seconds")
	require.Equal(t, 4, lease(1, 4), "one for each second")
	setBucket("0", "1 hour")
	require.Equal(t, 10, lease(1, 50), "a bucket holds no more than a burst")
}
