package jobs

import (
	"log/slog"
	"testing"

	"github.com/riverqueue/river"
	"github.com/stretchr/testify/require"
)

func TestIndexesAreRebuiltByTheirOwnerOnly(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	c := Config{Service: s.Service, Log: slog.New(slog.DiscardHandler)}
	require.Equal(t, river.ReindexerIndexNamesDefault(), c.riverConfig().ReindexerIndexNames)
	c.KeepIndexes = true
	require.Equal(t, []string{}, c.riverConfig().ReindexerIndexNames, "nil would mean River's own list")
}
