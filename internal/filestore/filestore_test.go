package filestore_test

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"

	"parapet/internal/filestore"
)

func open(t *testing.T) (*filestore.Folder, string) {
	t.Helper()
	dir := t.TempDir()
	folder, err := filestore.Open(dir)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, folder.Close()) })
	return folder, dir
}

func TestStoresAndReads(t *testing.T) {
	t.Parallel()
	folder, _ := open(t)
	require.NoError(t, folder.Put(t.Context(), "acme/one", strings.NewReader("bytes")))
	file, err := folder.Open(t.Context(), "acme/one")
	require.NoError(t, err)
	content, err := io.ReadAll(file)
	require.NoError(t, err)
	require.NoError(t, file.Close())
	require.Equal(t, "bytes", string(content))
	require.NoError(t, folder.Delete(t.Context(), "acme/one"))
	require.NoError(t, folder.Delete(t.Context(), "acme/one"))
	_, err = folder.Open(t.Context(), "acme/one")
	require.ErrorIs(t, err, fs.ErrNotExist)
}

func TestLeavesNoHalfFile(t *testing.T) {
	t.Parallel()
	folder, dir := open(t)
	broken := io.MultiReader(strings.NewReader("half"), iotest.ErrReader(errors.New("gone")))
	require.ErrorContains(t, folder.Put(t.Context(), "acme/half", broken), "gone")
	left, err := os.ReadDir(filepath.Join(dir, "acme"))
	require.NoError(t, err)
	require.Empty(t, left)
}

func TestNeverLeavesItsFolder(t *testing.T) {
	t.Parallel()
	folder, dir := open(t)
	require.NoError(t, os.WriteFile(filepath.Join(filepath.Dir(dir), "secret"), []byte("x"), 0o600))
	require.Error(t, folder.Put(t.Context(), "../outside", strings.NewReader("x")))
	_, err := folder.Open(t.Context(), "../secret")
	require.Error(t, err)
}
