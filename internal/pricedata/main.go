// Command pricedata makes the data sets that prices rest on from the files that
// the agencies publish: go run ./internal/pricedata FOLDER. It writes them
// compressed below model/hazard/data. The same input gives the same bytes.
package main

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"log"
	"os"
	"path/filepath"
)

// target is the folder of the data sets, from the root of the repository.
const target = "model/hazard/data"

func main() {
	log.SetFlags(0)
	if len(os.Args) != 2 {
		log.Fatal("usage: go run ./internal/pricedata FOLDER, the folder with the agencies' files")
	}
	if err := run(os.Args[1], target); err != nil {
		log.Fatal(err)
	}
}

func run(folder, target string) error {
	sets := []struct {
		name string
		make func(files) ([]byte, error)
	}{
		{"quakes-1965-2022.csv", quakes},
		{"atlantic-storms-1851-2025.txt", storms},
		{"station-days-1899-2026.csv", stationDays},
	}
	for _, set := range sets {
		content, err := set.make(files(folder))
		if err != nil {
			return fmt.Errorf("%s: %w", set.name, err)
		}
		packed, err := pack(content)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(target, set.name+".gz"), packed, 0o644); err != nil { //nolint:gosec // public data
			return err
		}
	}
	return nil
}

// pack compresses without a file name or a time, so that the bytes repeat.
func pack(content []byte) ([]byte, error) {
	var packed bytes.Buffer
	w, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	if _, err := w.Write(content); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return packed.Bytes(), nil
}

// files reads the agencies' files of a folder.
type files string

func (f files) read(name string) ([]byte, error) {
	return os.ReadFile(filepath.Join(string(f), name)) //nolint:gosec // the folder is the caller's
}
