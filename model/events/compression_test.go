package events_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"parapet/model/events"
	"parapet/model/kernel/store"
	"parapet/model/modeltest"
	"parapet/model/wire"
)

func feed(t *testing.T, b *modeltest.Bundle) []wire.Event {
	t.Helper()
	b.Relay()
	page, err := b.Service.Events.List(t.Context(), b.Acme, events.Filter{}, store.PageRequest{})
	require.NoError(t, err)
	return page.Data
}

// storedSizes returns, of all events, how many bytes are stored, how many frames there
// are, and in how many the stored hash is not that of the stored bytes.
func storedSizes(t *testing.T, b *modeltest.Bundle) (bytes, frames, others int) {
	t.Helper()
	require.NoError(t, b.DB.Pool.QueryRow(t.Context(), `select sum(length(data)), count(*) filter (where get_byte(data, 0) = 1), count(*) filter (where data_hash <> sha256(data))
		from events`).Scan(&bytes, &frames, &others))
	return bytes, frames, others
}

func TestEventsAreStoredCompressed(t *testing.T) {
	t.Parallel()
	plain, b := modeltest.New(t), modeltest.New(t)
	plain.StorePlain()
	sizes := make(map[*modeltest.Bundle]int)
	for _, b := range []*modeltest.Bundle{plain, b} {
		b.QuoteAndBind("quake-circle", nil)
		read := feed(t, b)
		require.Len(t, read, 3)
		for i := range read {
			sizes[b] += len(read[i].Data)
		}
		proof, err := b.Service.Events.VerifyChain(t.Context(), b.Acme, "")
		require.NoError(t, err)
		require.True(t, proof.Intact, proof.Faults)
	}
	stored, frames, others := storedSizes(t, plain)
	require.Equal(t, []int{sizes[plain], 0, 0}, []int{stored, frames, others}, "an older release reads these events")
	stored, frames, others = storedSizes(t, b)
	require.Equal(t, []int{3, 3}, []int{frames, others}, "the hash is that of the plain bytes")
	require.Less(t, stored, sizes[b]/5)
}

// An event of an older release has no hash: the relay computes it.
func TestEventsWithoutAHashAreChained(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	b.StorePlain()
	b.QuoteAndBind("quake-circle", nil)
	_, err := b.DB.Pool.Exec(t.Context(), "update events set data_hash = null")
	require.NoError(t, err)
	feed(t, b)
	proof, err := b.Service.Events.VerifyChain(t.Context(), b.Acme, "")
	require.NoError(t, err)
	require.Equal(t, []any{true, int64(3)}, []any{proof.Intact, proof.Events}, proof.Faults)
}
