// Command pricedata creates the data sets for prices from the files that the agencies
// publish: go run ./internal/pricedata FOLDER. It writes them compressed below
// model/hazard/data. The same input gives the same bytes.
package main

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"log"
	"os"
	"path/filepath"
)

// targetDir is the folder of the data sets, from the root of the repository.
const targetDir = "model/hazard/data"

func main() {
	log.SetFlags(0)
	if len(os.Args) != 2 {
		log.Fatal("usage: go run ./internal/pricedata FOLDER, the folder with the agencies' files")
	}
	if err := convertAll(os.Args[1], targetDir); err != nil {
		log.Fatal(err)
	}
}

func convertAll(folder, target string) error {
	sets := []struct {
		name string
		make func(sourceFolder) ([]byte, error)
	}{
		{"quakes-1965-2022.csv", convertQuakes},
		{"atlantic-storms-1851-2025.txt", convertStorms},
		{"station-days-1899-2026.csv", convertStationDays},
	}
	for _, set := range sets {
		content, err := set.make(sourceFolder(folder))
		if err != nil {
			return fmt.Errorf("%s: %w", set.name, err)
		}
		packed, err := compress(content)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(target, set.name+".gz"), packed, 0o644); err != nil { //nolint:gosec // public data
			return err
		}
	}
	return nil
}

// compress omits the file name and time, so that the same content gives the same bytes.
func compress(content []byte) ([]byte, error) {
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

// sourceFolder is the folder of the agencies' files.
type sourceFolder string

func (f sourceFolder) readFile(name string) ([]byte, error) {
	return os.ReadFile(filepath.Join(string(f), name)) //nolint:gosec // the caller chooses the folder
}
