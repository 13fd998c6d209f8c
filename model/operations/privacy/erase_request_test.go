package privacy_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"parapet/model/kernel/actor"
	"parapet/model/kernel/apperr"
	"parapet/model/modeltest"
	"parapet/model/operations/privacy"
)

func TestErasureNamesOnePersonAndAReason(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	policy := b.QuoteAndBind("quake-circle", nil)
	erase := func(caller actor.Actor, in privacy.ErasureRequest) error {
		_, err := b.Service.Privacy.ErasePolicyholder(t.Context(), caller, in)
		return err
	}
	good := privacy.ErasureRequest{Partner: "acme", Email: "someone@example.com", Reason: "Asked by letter."}
	for pointer, change := range map[string]func(*privacy.ErasureRequest){
		"/partner":   func(in *privacy.ErasureRequest) { in.Partner = "" },
		"/policy_id": func(in *privacy.ErasureRequest) { in.PolicyID = policy.ID },
		"/email":     func(in *privacy.ErasureRequest) { in.Email = "a\x00b" },
		"/reason":    func(in *privacy.ErasureRequest) { in.Reason = strings.Repeat("a", 2001) },
	} {
		in := good
		change(&in)
		require.Equal(t, []string{pointer}, modeltest.FieldPointers(modeltest.DomainError(t, erase(b.Operator, in))))
	}
	require.Equal(t, []string{"/policy_id"}, modeltest.FieldPointers(modeltest.DomainError(t, erase(b.Operator, privacy.ErasureRequest{Partner: "acme", Reason: "Asked."}))))
	for want, in := range map[apperr.Code][]privacy.ErasureRequest{
		apperr.CodeNotFound: {
			good,
			{Partner: "globex", PolicyID: policy.ID, Reason: "Asked."},
			{Partner: "acme", PolicyID: "pol_x", Reason: "Asked."},
			{Partner: "acme", PolicyID: "pol_01kajw6p5qfn1t7zbjy0yse3hv", Reason: "Asked."},
			{Partner: "unknown", Email: good.Email, Reason: "Asked."},
		},
		apperr.CodeStateConflict: {{Partner: "acme", PolicyID: policy.ID, Reason: "Asked."}}, // in force
	} {
		for _, each := range in {
			require.Equal(t, want, apperr.CodeOf(erase(b.Operator, each)), "%+v", each)
		}
	}
	for _, caller := range []actor.Actor{b.Acme, b.Source} {
		require.Equal(t, apperr.CodeInsufficientScope, apperr.CodeOf(erase(caller, good)))
	}
}
