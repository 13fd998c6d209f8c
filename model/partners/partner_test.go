package partners_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"parapet/model"
	"parapet/model/kernel/apperr"
	"parapet/model/kernel/store"
	"parapet/model/modeltest"
	"parapet/model/partners"
)

func TestAPartnerIsRegisteredOnce(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	in := partners.Request{Slug: "initech", Name: "Initech Insurance"}
	partner, created, err := b.Service.Partners.Register(t.Context(), b.Operator, in)
	require.NoError(t, err)
	require.True(t, created)
	require.Equal(t, "initech", partner.ID)
	require.Equal(t, "enabled", partner.Status)
	again, created, err := b.Service.Partners.Register(t.Context(), b.Operator, in)
	require.NoError(t, err)
	require.False(t, created)
	require.Equal(t, partner, again)
	in.Name = "Initrode"
	_, _, err = b.Service.Partners.Register(t.Context(), b.Operator, in)
	require.Equal(t, apperr.CodeStateConflict, modeltest.DomainError(t, err).Code)
	b.ActingAs(modeltest.Partner("initech")).Quote("quake-circle", nil)

	list, err := b.Service.Partners.List(t.Context(), b.Operator, store.PageRequest{Limit: 2})
	require.NoError(t, err)
	require.Len(t, list.Data, 2)
	next, err := b.Service.Partners.List(t.Context(), b.Operator, store.PageRequest{Cursor: *list.NextCursor})
	require.NoError(t, err)
	require.Equal(t, *partner, next.Data[0])
	_, err = b.Service.Partners.List(t.Context(), b.Acme, store.PageRequest{})
	require.Equal(t, apperr.CodeInsufficientScope, modeltest.DomainError(t, err).Code)
	_, _, err = b.Service.Partners.Register(t.Context(), b.Acme, in)
	require.Equal(t, apperr.CodeInsufficientScope, modeltest.DomainError(t, err).Code)
}

func TestAPartnersNameIsOneLine(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	for _, name := range []string{"", " Acme", "Acme\n", "A\x00cme", strings.Repeat("ä", 201)} {
		_, _, err := b.Service.Partners.Register(t.Context(), b.Operator, partners.Request{Slug: "-acme", Name: name})
		require.Equal(t, []string{"/name", "/slug"}, modeltest.FieldPointers(modeltest.DomainError(t, err)), "%q", name)
	}
}

func TestADisabledPartnerMayDoNothing(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	other, err := model.New(model.Config{DB: b.DB, Queue: modeltest.Queue{}, Keys: modeltest.Keys()})
	require.NoError(t, err)
	policy := b.QuoteAndBind("quake-circle", nil)
	refused := func(s *model.Service) bool {
		_, err := s.Policies.Get(t.Context(), b.Acme, policy.ID)
		return apperr.CodeOf(err) == apperr.CodePartnerDisabled
	}
	require.False(t, refused(other))
	in := partners.StatusRequest{Slug: "acme", Reason: "The contract ended."}
	for range 2 {
		partner, err := b.Service.Partners.Disable(t.Context(), b.Operator, in)
		require.NoError(t, err)
		require.Equal(t, "disabled", partner.Status)
		require.Equal(t, int64(2), partner.Version, "twice is once")
	}
	require.True(t, refused(b.Service), "at once where it was done")
	b.Observe(modeltest.Quake("us1", b.Now(), modeltest.Epicentre, "6.4"))
	b.RunJobs()
	require.Eventually(t, func() bool { return refused(other) }, time.Minute, 20*time.Millisecond, "elsewhere within seconds")

	partner, err := b.Service.Partners.Enable(t.Context(), b.Operator, in)
	require.NoError(t, err)
	require.Equal(t, "enabled", partner.Status)
	require.Equal(t, "approved", b.OnlyClaim(policy).Status, "what it bought stayed in force")
	in.Reason = ""
	_, err = b.Service.Partners.Enable(t.Context(), b.Operator, in)
	require.Equal(t, []string{"/reason"}, modeltest.FieldPointers(modeltest.DomainError(t, err)))
}
