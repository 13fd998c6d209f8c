package events

import (
	"encoding/hex"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"parapet/model/kernel/store"
)

// RedactionRow is a signed record of the data that was removed from an event.
type RedactionRow struct {
	bun.BaseModel `bun:"table:event_redactions"`

	EventID      uuid.UUID `bun:",pk,type:uuid"`
	Partner      string    `bun:",pk"`
	RedactedAt   time.Time
	DataHash     []byte
	RedactedHash []byte
	Signature    []byte
}

// SignedText returns the text that is signed: five lines, the first names the purpose.
func (r *RedactionRow) SignedText() []byte {
	return fmt.Appendf(nil, "parapet redaction\n%s\n%s\n%s\n%s", r.Partner, store.ResourceEvent.FormatID(r.EventID), hex.EncodeToString(r.DataHash), hex.EncodeToString(r.RedactedHash))
}
