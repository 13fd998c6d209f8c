package devpg_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"parapet/internal/devpg"
)

func TestNotInstalledSaysWhatToDo(t *testing.T) {
	t.Parallel()
	err := error(&devpg.NotInstalledError{})
	require.ErrorContains(t, err, "nstall")
	require.ErrorContains(t, err, "PARAPET_PG_BIN")
	require.ErrorContains(t, err, "DATABASE_URL")
}

// Not parallel: the environment belongs to the process.
func TestNamedFolderWithoutPrograms(t *testing.T) {
	t.Setenv("PARAPET_PG_BIN", t.TempDir())
	_, err := devpg.Start(t.Context(), devpg.Options{})
	require.ErrorContains(t, err, "PARAPET_PG_BIN")
	var missing *devpg.NotInstalledError
	require.NotErrorAs(t, err, &missing, "the named folder is the mistake")
}
