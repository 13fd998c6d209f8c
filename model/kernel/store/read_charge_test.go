package store_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"parapet/model/events"
	"parapet/model/kernel/readcharge"
	"parapet/model/kernel/store"
	"parapet/model/modeltest"
)

func TestReadChargeEndsTheStatementAtOnce(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	quote := b.Quote("rain-excess", nil)
	for range 3 {
		b.Quote("rain-excess", nil)
	}
	b.Relay()
	errEnough := errors.New("enough")
	for name, read := range map[string]func(context.Context) error{
		"list": func(ctx context.Context) error {
			_, err := b.Service.Quotes.List(ctx, b.Acme, store.Filter{}, store.PageRequest{})
			return err
		},
		"record": func(ctx context.Context) error {
			_, err := b.Service.Quotes.ByID(ctx, b.Acme, []string{quote.ID})
			return err
		},
		"events": func(ctx context.Context) error {
			_, err := b.Service.Events.List(ctx, b.Acme, events.Filter{}, store.PageRequest{})
			return err
		},
	} {
		require.NoError(t, read(t.Context()), name)
		rows, bytes := 0, 0
		err := read(readcharge.With(t.Context(), func(size int) error {
			rows, bytes = rows+1, bytes+size
			return errEnough
		}))
		require.ErrorIs(t, err, errEnough, name)
		require.Equal(t, 1, rows, name)
		require.Greater(t, bytes, 500, "%s: the size of the row", name)
	}
}

func TestVerifyChainRowsAreNotCharged(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	b.Quote("rain-excess", nil)
	b.Relay()
	proof, err := b.Service.Events.VerifyChain(readcharge.With(t.Context(), func(int) error { return errors.New("charged") }), b.Acme, "")
	require.NoError(t, err)
	require.True(t, proof.Intact)
}
