package adjudication_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"parapet/model/kernel/apperr"
	"parapet/model/modeltest"
)

func TestClaimNamesADayByTheIDUnderWhichItWasRecorded(t *testing.T) {
	t.Parallel()
	for name, id := range map[string]func(station string, day int) string{
		"an id of each day":       func(station string, day int) string { return fmt.Sprintf("%s-%d", station, day) },
		"one id for all its days": func(station string, _ int) string { return station },
	} {
		for _, sandbox := range []bool{false, true} {
			b := modeltest.New(t)
			policy, first := flooded(b)
			days := modeltest.RainSpell(policy, first, "60", "50", "40")
			for i := range days {
				days[i].SourceEventID = id(policy.Cover.Place.Station, i)
			}
			by := b.Source
			if sandbox {
				by = b.Acme
			}
			_, err := b.Service.Occurrences.RecordObservations(t.Context(), by, days, sandbox)
			require.NoError(t, err)
			b.RunJobs()
			claim := b.OnlyClaim(policy)
			for i := range 3 {
				have, created, err := b.Service.Adjudication.Open(t.Context(), b.Acme, modeltest.NewSourceEventClaim(policy, "ghcn", days[i].SourceEventID))
				require.NoError(t, err, "%s, sandbox %v, day %d", name, sandbox, i)
				require.False(t, created)
				require.Equal(t, claim.ID, have.ID)
			}
			theirs := b.ActingAs(b.Globex).QuoteAndBind("rain-excess", modeltest.Context{"station": policy.Cover.Place.Station})
			_, _, err = b.Service.Adjudication.Open(t.Context(), b.Globex, modeltest.NewSourceEventClaim(theirs, "ghcn", days[0].SourceEventID))
			want := apperr.CodeTriggerNotMet // it was bound after the spell
			if sandbox {
				want = apperr.CodeNotFound
			}
			require.Equal(t, want, modeltest.DomainError(t, err).Code)
		}
	}
}
