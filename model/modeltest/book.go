package modeltest

import (
	"context"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"parapet/internal/devpg"
	"parapet/internal/filestore"
	"parapet/migrations"
	"parapet/model"
	"parapet/model/kernel/dbpool"
)

// BookName is the database of a book on its server: see model/book_test.go.
const BookName = "book"

// BookVariable names the environment variable with the folder of a book, if it is not
// in the user's cache.
const BookVariable = "PARAPET_BOOK"

// bookServer is the server of this process's book.
var bookServer = struct {
	once   sync.Once
	server *devpg.Server
	err    error
}{}

// Book opens the book that `make book` made, migrated by the present code. It skips the
// benchmark if there is none. Rows written by the benchmark stay.
func Book(b *testing.B) *Bundle {
	b.Helper()
	folder, err := bookFolder()
	require.NoError(b, err)
	made, err := devpg.HasData(folder)
	require.NoError(b, err)
	if !made {
		b.Skip("there is no book: make book")
	}
	bookServer.once.Do(func() {
		bookServer.server, bookServer.err = devpg.Start(context.Background(), devpg.Options{DataDir: folder})
	})
	require.NoError(b, bookServer.err)
	return Open(b, bookServer.server.URL(BookName))
}

// Open returns a bundle on a database that has been seeded, and migrates it to the
// present schema. Rows that the test writes stay.
func Open(b testing.TB, url string) *Bundle {
	b.Helper()
	db, err := dbpool.Open(b.Context(), url, 8)
	require.NoError(b, err)
	b.Cleanup(db.Close)
	_, err = migrations.Apply(b.Context(), db.Pool)
	require.NoError(b, err)
	folder := b.TempDir()
	files, err := filestore.OpenFolder(folder)
	require.NoError(b, err)
	b.Cleanup(func() { require.NoError(b, files.Close()) })
	service, err := model.New(model.Config{DB: db, Queue: Queue{}, Files: files, Keys: Keys(), Development: true})
	require.NoError(b, err)
	bundle := &Bundle{
		Service: service, DB: db, URL: url, Files: folder, Rail: &Rail{}, t: b, ctx: context.WithoutCancel(b.Context()),
		Acme: Partner("acme"), Globex: Partner("globex"), Operator: Operator(), Source: Source(),
	}
	bundle.actor = bundle.Acme
	return bundle
}

func bookFolder() (string, error) {
	if folder := os.Getenv(BookVariable); folder != "" {
		return folder, nil
	}
	cache, err := os.UserCacheDir()
	return filepath.Join(cache, "parapet", "book"), err
}
