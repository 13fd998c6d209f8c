package occurrence_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"parapet/model/kernel/apperr"
	"parapet/model/modeltest"
)

func TestReplayIsRepeatedWithoutNamingItsEvent(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	replay := func(event string) error {
		_, _, err := b.Service.Occurrences.ReplayShift(t.Context(), "usgs", "digest", event, func(time.Time) (time.Duration, error) { return time.Hour, nil })
		return err
	}
	require.NoError(t, replay("us1"))
	require.NoError(t, replay(""))
	require.NoError(t, replay("us1"))
	require.Equal(t, apperr.CodeStateConflict, apperr.CodeOf(replay("us2")))
}

func TestProductionReplaysIntoRehearsalDatabasesOnly(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t, modeltest.InProduction())
	replay := func() error {
		_, _, err := b.Service.Occurrences.ReplayShift(t.Context(), "usgs", "digest", "us1", func(time.Time) (time.Duration, error) { return time.Hour, nil })
		return err
	}
	require.Equal(t, apperr.CodeStateConflict, apperr.CodeOf(replay()))
	modeltest.ExecSQL(t, b, "update clock set is_rehearsal = true")
	require.NoError(t, replay())
}
