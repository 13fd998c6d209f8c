package railtest

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/go-json-experiment/json"
)

// bookFile is the file to which a bank appends each executed order, one per line, before
// it answers; the zero value writes nothing.
type bookFile struct{ file *os.File }

func openBookFile(path string) (bookFile, error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600) //nolint:gosec // a test's file
	return bookFile{file}, err
}

func (b bookFile) appendEntry(entry BookEntry) error {
	if b.file == nil {
		return nil
	}
	line, err := json.Marshal(entry)
	if err != nil {
		return fmt.Errorf("encode an entry: %w", err)
	}
	if _, err := b.file.Write(append(line, '\n')); err != nil {
		return fmt.Errorf("write an entry: %w", err)
	}
	return b.file.Sync()
}

// ReadBook reads a bank's book. A missing file is an empty book.
func ReadBook(path string) (entries []BookEntry, err error) {
	file, err := os.Open(path) //nolint:gosec // a test's file
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	for lines := bufio.NewScanner(file); lines.Scan(); {
		var entry BookEntry
		if err := json.Unmarshal(lines.Bytes(), &entry); err != nil {
			return nil, fmt.Errorf("read an entry: %w", err)
		}
		entries = append(entries, entry)
	}
	return entries, nil
}
