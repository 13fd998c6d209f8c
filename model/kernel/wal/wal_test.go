package wal_test

import (
	"math/rand/v2"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"parapet/model/kernel/wal"
)

func TestPositionsAreParsedAsTheyAreFormatted(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	for range 1000 {
		p := wal.Position{Timeline: 1 + r.Uint32N(1<<31), LSN: r.Uint64() >> r.IntN(64)}
		back, ok := wal.Parse(p.String())
		require.True(t, ok, p.String())
		require.Equal(t, p, back)
	}
	require.Equal(t, "3:1A/16B3748", wal.Position{Timeline: 3, LSN: 0x1A_016B3748}.String())
	for _, text := range []string{
		"", ":", "1", "1:", "1:0", "1:0/", "1:/0", "0:0/1", "-1:0/1", "+1:0/1", "01:0/1", "4294967296:0/1", "1:100000000/0", "1:0/100000000",
		"1:0/01", "1:00/1", "1:0/a", "1:0/G", "1:0/1/2", "1:0/1 ", " 1:0/1", "1:0x0/1", "1:0/-1", "0/16B3748", "1-0/16B3748", "1:0/1\x00",
	} {
		_, ok := wal.Parse(text)
		require.False(t, ok, "%q", text)
	}
}

func TestNothingIsQueuedWithoutARecorder(t *testing.T) {
	t.Parallel()
	var batch pgx.Batch
	wal.QueuePosition(t.Context(), &batch)
	require.Zero(t, batch.Len())
	wal.QueuePosition(wal.WithRecorder(t.Context(), new(wal.Recorder)), &batch)
	require.Equal(t, 1, batch.Len())
	_, ok := new(wal.Recorder).Last()
	require.False(t, ok)
}
