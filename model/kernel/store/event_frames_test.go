package store_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"testing"

	"github.com/stretchr/testify/require"

	"parapet/model/kernel/actor"
	"parapet/model/kernel/compress"
	"parapet/model/kernel/event"
	"parapet/model/kernel/store"
)

func TestFramesOfAnEventAreStored(t *testing.T) {
	t.Parallel()
	s, db := openNotes(t)
	data := []byte(`{"object":{"type":"","id":"acme","version":2}}`)
	frames := [][]byte{compress.Frame(data[:10]), compress.Frame(data[10:])}
	require.NoError(t, s.InTx(t.Context(), actor.System(), func(_ context.Context, tx *store.Tx) error {
		row := newNote("acme")
		_, err := tx.AppendEventData(event.QuoteBound, &row.RowHeader, store.ResourceQuote, data, frames...)
		return err
	}))
	var stored, hash []byte
	require.NoError(t, db.Pool.QueryRow(t.Context(), "select data, data_hash from events").Scan(&stored, &hash))
	sum := sha256.Sum256(data)
	require.Equal(t, bytes.Join(frames, nil), stored)
	require.Equal(t, sum[:], hash, "the hash is that of the plain bytes")
}
