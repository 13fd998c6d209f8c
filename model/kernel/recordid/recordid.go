// Package recordid makes the ids of records, so that records sort by id as by created_at.
// Its functions are pure, except for random digits.
package recordid

import (
	"encoding/binary"
	"time"

	"github.com/google/uuid"
)

// At returns the id of the ordinal-th record that a transaction creates at an instant: a
// UUIDv7 (RFC 9562) whose first 64 bits are the instant to the microsecond. It does not
// depend on the machine's clock, so a list selects a period by a range of ids.
func At(at time.Time, ordinal uint16) uuid.UUID {
	id := uuid.New()
	first := LowestAt(at)
	copy(id[:8], first[:8])
	binary.BigEndian.PutUint16(id[8:], 1<<15|ordinal&(1<<14-1)) // the variant and the ordinal
	return id
}

// LowestAt returns the lowest id of records created at an instant; ids begin in 1970.
func LowestAt(at time.Time) (id uuid.UUID) {
	micros := max(0, at.UnixMicro())
	binary.BigEndian.PutUint64(id[:], uint64(micros/1000)<<16|7<<12|uint64(micros%1000))
	return id
}
