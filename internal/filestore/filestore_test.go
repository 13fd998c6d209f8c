package filestore_test

import (
	"errors"
	"io"
	"io/fs"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"
	"github.com/stretchr/testify/require"

	"parapet/internal/filestore"
)

func openFolder(t *testing.T) (*filestore.Folder, string) {
	t.Helper()
	dir := t.TempDir()
	folder, err := filestore.OpenFolder(dir)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, folder.Close()) })
	return folder, dir
}

// newTestBucket runs an in-memory server of the S3 protocol.
func newTestBucket(t *testing.T) filestore.Store {
	t.Helper()
	backend := s3mem.New()
	require.NoError(t, backend.CreateBucket("claims"))
	server := httptest.NewServer(gofakes3.New(backend).Server())
	t.Cleanup(server.Close)
	store, err := filestore.Open("s3://claims/attachments?endpoint=" + server.URL + "&region=us-east-1")
	require.NoError(t, err)
	return store
}

func TestFolderStoresAndReads(t *testing.T) {
	t.Parallel()
	folder, _ := openFolder(t)
	testStore(t, folder)
}

// Not parallel: the keys come from the environment, which belongs to the process.
func TestS3StoresAndReads(t *testing.T) {
	t.Setenv("AWS_ACCESS_KEY_ID", "key")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "secret")
	store := newTestBucket(t)
	testStore(t, store)
	broken := io.MultiReader(strings.NewReader("half"), iotest.ErrReader(errors.New("gone")))
	require.ErrorContains(t, store.Put(t.Context(), "acme/half", broken), "gone")
	_, err := store.Open(t.Context(), "acme/half")
	require.ErrorIs(t, err, fs.ErrNotExist, "no half file")
}

func TestOpenRejectsInvalidAddresses(t *testing.T) {
	t.Parallel()
	for _, address := range []string{"s3://", "s3:///x", "s3://bucket?endpoint=%zz"} {
		store, err := filestore.Open(address)
		require.ErrorContains(t, err, "file store", address)
		requireNilStore(t, store)
	}
	store, err := filestore.Open("/proc/nowhere")
	require.ErrorContains(t, err, "file store")
	requireNilStore(t, store)
}

// requireNilStore requires a nil interface, not an interface that holds nil.
func requireNilStore(t *testing.T, store filestore.Store) {
	t.Helper()
	if store != nil {
		t.Fatalf("%#v could be closed", store)
	}
}

// testStore checks the guarantees that every store gives.
func testStore(t *testing.T, store filestore.Store) {
	t.Helper()
	require.NoError(t, store.Put(t.Context(), "acme/one", strings.NewReader("bytes")))
	file, err := store.Open(t.Context(), "acme/one")
	require.NoError(t, err)
	content, err := io.ReadAll(file)
	require.NoError(t, err)
	require.NoError(t, file.Close())
	require.Equal(t, "bytes", string(content))
	require.NoError(t, store.Delete(t.Context(), "acme/one"))
	require.NoError(t, store.Delete(t.Context(), "acme/one"))
	_, err = store.Open(t.Context(), "acme/one")
	require.ErrorIs(t, err, fs.ErrNotExist)
}

func TestPutLeavesNoPartialFile(t *testing.T) {
	t.Parallel()
	folder, dir := openFolder(t)
	broken := io.MultiReader(strings.NewReader("half"), iotest.ErrReader(errors.New("gone")))
	require.ErrorContains(t, folder.Put(t.Context(), "acme/half", broken), "gone")
	left, err := os.ReadDir(filepath.Join(dir, "acme"))
	require.NoError(t, err)
	require.Empty(t, left)
}

// A process may end while it stores a file; its partial data is removed with the object.
func TestDeleteRemovesPartialFiles(t *testing.T) {
	t.Parallel()
	folder, dir := openFolder(t)
	require.NoError(t, folder.Put(t.Context(), "acme/two", strings.NewReader("bytes")))
	for _, name := range []string{"one", "one.ABC.part"} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, "acme", name), nil, 0o600))
	}
	require.NoError(t, folder.Delete(t.Context(), "acme/one"))
	left, err := os.ReadDir(filepath.Join(dir, "acme"))
	require.NoError(t, err)
	require.Len(t, left, 1)
	require.Equal(t, "two", left[0].Name())
}

func TestKeysCannotEscapeTheFolder(t *testing.T) {
	t.Parallel()
	folder, dir := openFolder(t)
	require.NoError(t, os.WriteFile(filepath.Join(filepath.Dir(dir), "secret"), []byte("x"), 0o600))
	require.Error(t, folder.Put(t.Context(), "../outside", strings.NewReader("x")))
	_, err := folder.Open(t.Context(), "../secret")
	require.Error(t, err)
}
