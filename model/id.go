package model

import (
	"github.com/google/uuid"
	"go.jetify.com/typeid"
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
	nounMoratorium    = noun{"moratorium", "mor"}
)

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

// id writes a record's public id: prefix, underscore, base32 UUIDv7.
func (n noun) id(id uuid.UUID) string {
	text, err := typeid.FromUUIDBytesWithPrefix(n.prefix, id[:])
	if err != nil { // the prefixes above are constants that the library accepts
		panic(err)
	}
	return text.String()
}

// optional is id for a reference that may be absent.
func (n noun) optional(id *uuid.UUID) *string {
	if id == nil {
		return nil
	}
	text := n.id(*id)
	return &text
}

// parse reads a public id. Any text that is not one, and any id of another
// noun, is simply not found: the answer must not tell which.
func (n noun) parse(text string) (uuid.UUID, error) {
	parsed, err := typeid.FromString(text)
	if err != nil || parsed.Prefix() != n.prefix {
		return uuid.Nil, n.notFound()
	}
	return uuid.FromBytes(parsed.UUIDBytes())
}

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
	default:
		return n.name
	}
}
