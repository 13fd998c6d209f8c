package hazard

import "crypto/sha256"

// Record is a source's record of one observation: a feature of GeoJSON, a day's row, or a
// storm's header and one fix.
type Record struct {
	Text []byte // the bytes in the file
	File *File  // nil while it is unknown
}

// File is a file of a source.
type File struct {
	SHA256 [sha256.Size]byte
	Host   string // of its address; empty for a file of this machine
	Path   string // of its address, without the query, which may have a key; otherwise its name
}
