// Package docs is the documentation that every server has at /docs. It is rendered from
// the Markdown files of this folder, of rest and RUNBOOK.md, from the OpenAPI document,
// the GraphQL schema and the sample programs; navigation.yaml says which page has what.
// make generate writes site.zip, and the tests of this package refuse an old one.
package docs

import (
	"archive/zip"
	"bytes"
	_ "embed"
	"encoding/binary"
	"fmt"
	"io"
	"io/fs"
)

//go:embed site.zip
var archive []byte

// File is a page, a style, a program or a picture of the documentation.
type File struct {
	Content []byte
	Gzip    []byte // the same content, compressed by RFC 1952
}

// Files returns the files of the documentation by name: a page at /docs/quickstart is
// quickstart.html, and the first page index.html.
func Files() (map[string]File, error) {
	r, err := zip.NewReader(bytes.NewReader(archive), int64(len(archive)))
	if err != nil {
		return nil, fmt.Errorf("open the documentation: %w", err)
	}
	files := map[string]File{}
	for _, entry := range r.File {
		raw, err := entry.OpenRaw()
		if err != nil {
			return nil, fmt.Errorf("open %s of the documentation: %w", entry.Name, err)
		}
		// An entry is a stream of deflate: with header and trailer it is a gzip file.
		packed := bytes.NewBufferString("\x1f\x8b\x08\x00\x00\x00\x00\x00\x02\xff")
		if _, err := io.Copy(packed, raw); err != nil {
			return nil, fmt.Errorf("read %s of the documentation: %w", entry.Name, err)
		}
		trailer := binary.LittleEndian.AppendUint32(nil, entry.CRC32)
		packed.Write(binary.LittleEndian.AppendUint32(trailer, entry.FileHeader.UncompressedSize)) //nolint:staticcheck // the trailer has 32 bits
		content, err := fs.ReadFile(r, entry.Name)
		if err != nil {
			return nil, fmt.Errorf("read %s of the documentation: %w", entry.Name, err)
		}
		files[entry.Name] = File{Content: content, Gzip: packed.Bytes()}
	}
	return files, nil
}
