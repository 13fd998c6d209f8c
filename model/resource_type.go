package model

import (
	"encoding/binary"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"go.jetify.com/typeid/base32"
)

// noun is a kind of record: its name in answers and the prefix of its ids.
type noun struct{ name, prefix string }

var (
	nounQuote         = noun{"quote", "quo"}
	nounPolicy        = noun{"policy", "pol"}
	nounClaim         = noun{"claim", "clm"}
	nounTimelineEntry = noun{"timeline_entry", "tle"}
	nounAttachment    = noun{"attachment", "att"}
	nounMessage       = noun{"message", "msg"}
	nounPayoutMethod  = noun{"payout_method", "pmt"}
	nounPayout        = noun{"payout", "pay"}
	nounObservation   = noun{"observation", "obs"}
	nounOccurrence    = noun{"occurrence", "occ"}
	nounEvent         = noun{"event", "evt"}
	nounEndpoint      = noun{"webhook_endpoint", "whe"}
	nounDelivery      = noun{"delivery", "dlv"}
	nounReport        = noun{"report", "rep"}
	nounFinding       = noun{"finding", "fnd"}
	nounMoratorium    = noun{"moratorium", "mor"}
	nounAudit         = noun{"audit_entry", "aud"}
	nounAdoption      = noun{"rail_adoption", "rad"}
	nounResumption    = noun{"release_resumption", "rrs"}
)

// nouns are the kinds of record whose ids partners see.
var nouns = []noun{
	nounQuote, nounPolicy, nounClaim, nounTimelineEntry, nounAttachment, nounMessage, nounPayoutMethod, nounPayout, nounObservation,
	nounOccurrence, nounEvent, nounEndpoint, nounDelivery,
}

// subjects are the nouns that events are about.
var subjects = []noun{nounQuote, nounPolicy, nounClaim, nounAttachment, nounMessage, nounPayoutMethod, nounPayout, nounEndpoint}

// subjectNamed is the noun of a name or a prefix; a noun without any id for any
// other text.
func subjectNamed(text string) noun {
	for _, n := range subjects {
		if n.name == text || n.prefix == text {
			return n
		}
	}
	return noun{}
}

// newID is a UUIDv7, so that ids sort by creation. google's generator is
// monotonic within a process; the typeid library's own is not.
func newID() uuid.UUID { return uuid.Must(uuid.NewV7()) }

// recordID is the id of the ordinal-th record that a transaction creates at an instant:
// a UUIDv7 (RFC 9562) whose first 64 bits are the instant to the microsecond. Records
// sort by id as by created_at, whatever the clock of the machine says, so a list narrows
// to a span of time by a range of ids.
func recordID(at time.Time, ordinal uint16) uuid.UUID {
	id := uuid.New()
	first := firstID(at)
	copy(id[:8], first[:8])
	binary.BigEndian.PutUint16(id[8:], 1<<15|ordinal&(1<<14-1)) // the variant and the ordinal
	return id
}

// firstID is the lowest id of records that are created at an instant.
func firstID(at time.Time) (id uuid.UUID) {
	micros := max(0, at.UnixMicro())
	binary.BigEndian.PutUint64(id[:], uint64(micros/1000)<<16|7<<12|uint64(micros%1000))
	return id
}

// id writes a record's public id as TypeID 0.3 does: prefix, underscore, base32
// UUIDv7. The library's own way there formats, parses and checks every id again,
// which was a fifth of what a timeline allocated.
func (n noun) id(id uuid.UUID) string { return n.prefix + "_" + base32.Encode(id) }

// optional is id for a reference that may be absent.
func (n noun) optional(id *uuid.UUID) *string {
	if id == nil {
		return nil
	}
	text := n.id(*id)
	return &text
}

// parse reads a public id. Any text that is not one is not found; of an id of another
// kind the answer says which prefix belongs here, because that tells nothing of records.
func (n noun) parse(text string) (uuid.UUID, error) {
	prefix, suffix, _ := strings.Cut(text, "_")
	if prefix != n.prefix && slices.ContainsFunc(nouns, func(other noun) bool { return other.prefix == prefix }) {
		return uuid.Nil, Fail(CodeNotFound, "There is no %s with this id. Ids of this kind begin with %s_, not %s_.", n.words(), n.prefix, prefix)
	}
	if prefix != n.prefix || suffix > greatest {
		return uuid.Nil, n.notFound()
	}
	bytes, err := base32.Decode(suffix)
	if err != nil {
		return uuid.Nil, n.notFound()
	}
	return uuid.FromBytes(bytes)
}

// greatest is what 128 bits of ones are: 26 digits could hold two bits more.
const greatest = "7zzzzzzzzzzzzzzzzzzzzzzzzz"

// notFound is the same answer for an unknown, a foreign and a malformed id.
func (n noun) notFound() *Error {
	return Fail(CodeNotFound, "There is no %s with this id.", n.words())
}

func (n noun) words() string {
	switch n {
	case nounTimelineEntry:
		return "timeline entry"
	case nounPayoutMethod:
		return "payout method"
	case nounEndpoint:
		return "webhook endpoint"
	case nounResumption:
		return "resumption of releases"
	default:
		return n.name
	}
}
