package events_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"parapet/model/kernel/apperr"
	"parapet/model/modeltest"
)

func TestVerifyChainFindsTampering(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		tamper   string
		sequence int64
		kind     string
	}{
		"edited":    {"update events set data = set_byte(data, length(data) - 1, 255 - get_byte(data, length(data) - 1)) where id = (select event_id from event_sequence where partner = 'acme' and sequence = 2)", 2, "changed"},
		"re-dated":  {"update events set occurred_at = occurred_at + interval '1 second' where id = (select event_id from event_sequence where partner = 'acme' and sequence = 3)", 3, "changed"},
		"deleted":   {"delete from event_sequence where partner = 'acme' and sequence = 2", 2, "missing"},
		"cut":       {"delete from event_sequence where partner = 'acme' and sequence > 2", 4, "cut"},
		"reordered": {"update event_sequence set sequence = case sequence when 2 then -3 else -2 end where partner = 'acme' and sequence in (2, 3); update event_sequence set sequence = -sequence where sequence < 0", 2, "changed"},
		"rewritten": {"update event_checkpoints set hash = sha256('other')", 4, "checkpoint"},
		"inserted": {`insert into events select gen_random_uuid(), partner, type, subject_type, subject_id, subject_version, occurred_at, data, data_hash from events where partner = 'acme' limit 1;
			insert into event_sequence (partner, sequence, event_id, hash, type) select 'acme', 5, id, sha256('x'), type from events e where partner = 'acme' and not exists (select from event_sequence n where n.event_id = e.id)`, 5, "changed"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := modeltest.New(t, modeltest.WithoutChecks())
			b.QuoteAndBind("rain-excess", nil)
			b.Quote("rain-excess", nil)
			require.Equal(t, 4, relayed(t, b))
			b.Sweep()
			whole, err := b.Service.Events.VerifyChain(t.Context(), b.Acme, "")
			require.NoError(t, err)
			require.True(t, whole.Intact, "%+v", whole.Faults)
			require.EqualValues(t, 4, whole.Events)
			require.EqualValues(t, 1, whole.Checkpoints)

			_, err = b.DB.Pool.Exec(t.Context(), tc.tamper)
			require.NoError(t, err)
			found, err := b.Service.Events.VerifyChain(t.Context(), b.Acme, "")
			require.NoError(t, err)
			require.False(t, found.Intact)
			kinds := make(map[int64]string)
			for _, fault := range found.Faults {
				kinds[fault.Sequence] = fault.Kind
			}
			require.Equal(t, tc.kind, kinds[tc.sequence], "%+v", found.Faults)
		})
	}
}

// A misspelt partner is an error and not a proof.
func TestVerifyChainRefusesUnknownPartner(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	for _, slug := range []string{"nosuch", "no\x00such", "Acme"} {
		_, err := b.Service.Events.VerifyChain(t.Context(), b.Operator, slug)
		require.Equal(t, apperr.CodeNotFound, apperr.CodeOf(err), slug)
	}
}

func TestCheckpointIsSignedEveryFiveMinutesOfActivity(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	for range 3 {
		b.Quote("rain-excess", nil)
		relayed(t, b)
		b.Sweep()
		b.Sweep()
	}
	proof, err := b.Service.Events.VerifyChain(t.Context(), b.Operator, "acme")
	require.NoError(t, err)
	require.EqualValues(t, 1, proof.Checkpoints)
	b.AdvanceClock(5 * time.Minute)
	b.Sweep()
	proof, err = b.Service.Events.VerifyChain(t.Context(), b.Operator, "acme")
	require.NoError(t, err)
	require.True(t, proof.Intact)
	require.EqualValues(t, 2, proof.Checkpoints)
}
