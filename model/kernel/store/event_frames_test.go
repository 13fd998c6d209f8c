package store_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"parapet/model/kernel/actor"
	"parapet/model/kernel/compress"
	"parapet/model/kernel/event"
	"parapet/model/kernel/store"
	"parapet/model/modeltest"
	"parapet/model/wire"
)

func TestFramesOfAnEventAreStored(t *testing.T) {
	t.Parallel()
	s, db := openNotes(t)
	data := []byte(`{"object":{"type":"","id":"acme","version":2}}`)
	frames := [][]byte{compress.Frame(data[:10]), compress.Frame(data[10:])}
	sum, joined := sha256.Sum256(data), bytes.Join(frames, nil)
	require.NoError(t, s.InTx(t.Context(), actor.System(), func(_ context.Context, tx *store.Tx) error {
		row := newNote("acme")
		_, err := tx.AppendEventData(event.QuoteBound, &row.RowHeader, store.ResourceQuote, data, frames...)
		clear(data) // the caller may reuse its buffers
		clear(frames[0])
		return err
	}))
	var stored, hash []byte
	require.NoError(t, db.Pool.QueryRow(t.Context(), "select data, data_hash from events").Scan(&stored, &hash))
	require.Equal(t, joined, stored)
	require.Equal(t, sum[:], hash, "the hash is that of the plain bytes")
}

// Two events of one transaction share a buffer while they are encoded. The first
// transaction of a process does not know yet which releases may run on the database.
func TestEventsAreStoredCompressedWhereEveryReleaseReadsThem(t *testing.T) {
	t.Parallel()
	for _, minimum := range []int{46, 47} {
		s, db := openNotes(t)
		_, err := db.Pool.Exec(t.Context(), "update schema_compatibility set minimum_binary = $1", minimum)
		require.NoError(t, err)
		want := map[string]string{}
		for _, version := range []string{"first", "later"} {
			require.NoError(t, s.InTx(t.Context(), actor.System(), func(_ context.Context, tx *store.Tx) error {
				row := newNote("acme")
				for _, name := range []string{version, strings.Repeat(version, 500), ""} {
					id, err := tx.AppendEvent(event.QuoteBound, &row.RowHeader, store.ResourceQuote, wire.Person{Name: &name})
					require.NoError(t, err)
					want[id.String()] = `{"object":` + string(modeltest.Must(wire.Encode(wire.Person{Name: &name}))) + `}`
				}
				return nil
			}))
		}
		rows, err := db.Pool.Query(t.Context(), "select id::text, data, data_hash from events")
		require.NoError(t, err)
		stored, err := pgx.CollectRows(rows, pgx.RowToStructByPos[struct {
			ID         string
			Data, Hash []byte
		}])
		require.NoError(t, err)
		require.Len(t, stored, len(want))
		for _, e := range stored {
			text := modeltest.Must(compress.Decompress(e.Data))
			hash := sha256.Sum256(text)
			require.Equal(t, want[e.ID], string(text))
			require.Equal(t, hash[:], e.Hash)
			require.Equal(t, minimum == 47, len(e.Data) < len(text), "%s", text)
		}
	}
}
