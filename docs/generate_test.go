package docs_test

import (
	"archive/zip"
	"bytes"
	"compress/flate"
	"compress/gzip"
	"flag"
	"io"
	"maps"
	"os"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"parapet/docs"
)

var update = flag.Bool("update", false, "write site.zip")

// TestCommittedSite renders the site and compares it with the committed one. Run with
// -update after a change of what it is rendered from.
func TestCommittedSite(t *testing.T) {
	t.Parallel()
	rendered, err := buildSite(os.DirFS(".."))
	require.NoError(t, err)
	if *update {
		require.NoError(t, os.WriteFile("site.zip", packFiles(t, rendered), 0o644))
		return
	}
	committed, err := docs.Files()
	require.NoError(t, err)
	require.Equal(t, slices.Sorted(maps.Keys(rendered)), slices.Sorted(maps.Keys(committed)), "run make generate and commit docs/site.zip")
	for name, file := range committed {
		require.Equal(t, string(rendered[name]), string(file.Content), "%s is not up to date: run make generate and commit docs/site.zip", name)
		r, err := gzip.NewReader(bytes.NewReader(file.Gzip))
		require.NoError(t, err)
		unpacked, err := io.ReadAll(r)
		require.NoError(t, err, name)
		require.Equal(t, file.Content, unpacked, name)
	}
}

// packFiles compresses files to a zip archive. Equal files make equal archives.
func packFiles(t *testing.T, files map[string][]byte) []byte {
	t.Helper()
	var packed bytes.Buffer
	w := zip.NewWriter(&packed)
	w.RegisterCompressor(zip.Deflate, func(out io.Writer) (io.WriteCloser, error) {
		return flate.NewWriter(out, flate.BestCompression)
	})
	for _, name := range slices.Sorted(maps.Keys(files)) {
		entry, err := w.Create(name)
		require.NoError(t, err)
		_, err = entry.Write(files[name])
		require.NoError(t, err)
	}
	require.NoError(t, w.Close())
	return packed.Bytes()
}
