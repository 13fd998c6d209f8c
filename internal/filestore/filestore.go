// Package filestore stores attachments in a folder, the embedded default, or in an
// S3-compatible store. Both implement model.Files.
package filestore

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"

	"parapet/model/dbconn"
)

// Store stores objects. Close it at the end.
type Store interface {
	Put(ctx context.Context, key string, r io.Reader) error
	Open(ctx context.Context, key string) (io.ReadCloser, error)
	Delete(ctx context.Context, key string) error
	Close() error
}

// Open opens an s3:// address or a folder.
func Open(where string) (Store, error) {
	var store Store
	var err error
	if strings.HasPrefix(where, "s3://") {
		store, err = OpenS3(where)
	} else {
		store, err = OpenFolder(where)
	}
	if err != nil {
		return nil, err // not an interface that holds a nil pointer
	}
	return store, nil
}

// Folder stores objects in a folder. Keys are slash-separated paths below it; a key can
// never lead out of it.
type Folder struct{ root *os.Root }

// OpenFolder opens the folder and creates it if it is missing.
func OpenFolder(dir string) (*Folder, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("file store: %w", err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("file store: %w", err)
	}
	return &Folder{root}, nil
}

// Put stores all of r under key or nothing: it writes a temporary file, syncs it to disk
// and then renames it, unless ctx has ended.
func (f *Folder) Put(ctx context.Context, key string, r io.Reader) (err error) {
	if err := dbconn.RequireNoTransaction(ctx); err != nil {
		return err
	}
	if err := f.root.MkdirAll(path.Dir(key), 0o700); err != nil {
		return fmt.Errorf("store %s: %w", key, err)
	}
	part := key + "." + rand.Text() + ".part" // unique, so that a dead process's leftover does not conflict
	file, err := f.root.OpenFile(part, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fmt.Errorf("store %s: %w", key, err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("store %s: %w", key, err), f.root.Remove(part))
		}
	}()
	_, err = io.Copy(file, r)
	if err == nil {
		err = file.Sync()
	}
	if err = errors.Join(err, file.Close(), context.Cause(ctx)); err != nil {
		return err
	}
	return f.root.Rename(part, key)
}

// Open reads an object; the caller closes it.
func (f *Folder) Open(ctx context.Context, key string) (io.ReadCloser, error) {
	if err := dbconn.RequireNoTransaction(ctx); err != nil {
		return nil, err
	}
	file, err := f.root.Open(key)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", key, err)
	}
	return file, nil
}

// Delete removes an object and the leftovers of an interrupted Put; a missing object is
// no error.
func (f *Folder) Delete(ctx context.Context, key string) error {
	if err := dbconn.RequireNoTransaction(ctx); err != nil {
		return err
	}
	names, err := fs.Glob(f.root.FS(), key+".*.part") // keys contain no Glob metacharacters
	for _, name := range append(names, key) {
		if gone := f.root.Remove(name); gone != nil && !errors.Is(gone, fs.ErrNotExist) {
			err = errors.Join(err, gone)
		}
	}
	if err != nil {
		return fmt.Errorf("delete %s: %w", key, err)
	}
	return nil
}

// Close closes the folder.
func (f *Folder) Close() error { return f.root.Close() }
