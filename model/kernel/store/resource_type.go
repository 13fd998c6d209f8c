package store

import (
	"slices"
	"strings"

	"github.com/google/uuid"
	"go.jetify.com/typeid/base32"

	"parapet/model/kernel/apperr"
)

// ResourceType is a type of record: its name in the API and the prefix of its ids.
type ResourceType struct{ Name, prefix string }

// The types of records.
var (
	ResourceQuote             = ResourceType{"quote", "quo"}
	ResourcePolicy            = ResourceType{"policy", "pol"}
	ResourceClaim             = ResourceType{"claim", "clm"}
	ResourceTimelineEntry     = ResourceType{"timeline_entry", "tle"}
	ResourceAttachment        = ResourceType{"attachment", "att"}
	ResourceMessage           = ResourceType{"message", "msg"}
	ResourcePayoutMethod      = ResourceType{"payout_method", "pmt"}
	ResourcePayout            = ResourceType{"payout", "pay"}
	ResourceObservation       = ResourceType{"observation", "obs"}
	ResourceOccurrence        = ResourceType{"occurrence", "occ"}
	ResourceEvent             = ResourceType{"event", "evt"}
	ResourceEndpoint          = ResourceType{"webhook_endpoint", "whe"}
	ResourceDelivery          = ResourceType{"delivery", "dlv"}
	ResourceReport            = ResourceType{"report", "rep"}
	ResourceException         = ResourceType{"reconciliation_exception", "exc"}
	ResourceMoratorium        = ResourceType{"moratorium", "mor"}
	ResourceAuditEntry        = ResourceType{"audit_entry", "aud"}
	ResourceRailAdoption      = ResourceType{"rail_adoption", "rad"}
	ResourceReleaseResumption = ResourceType{"release_resumption", "rrs"}
	ResourceSandboxRun        = ResourceType{"sandbox_run", "run"}
)

// partnerResources are the resource types whose ids partners see.
var partnerResources = []ResourceType{
	ResourceQuote, ResourcePolicy, ResourceClaim, ResourceTimelineEntry, ResourceAttachment, ResourceMessage, ResourcePayoutMethod, ResourcePayout, ResourceObservation,
	ResourceOccurrence, ResourceEvent, ResourceEndpoint, ResourceDelivery, ResourceSandboxRun,
}

// eventSubjects are the resource types that events are about.
var eventSubjects = []ResourceType{ResourceQuote, ResourcePolicy, ResourceClaim, ResourceAttachment, ResourceMessage, ResourcePayoutMethod, ResourcePayout, ResourceEndpoint, ResourceOccurrence}

// FindEventSubject returns the resource type of a name or a prefix; for any other text
// it returns one that no id matches.
func FindEventSubject(text string) ResourceType {
	for _, n := range eventSubjects {
		if n.Name == text || n.prefix == text {
			return n
		}
	}
	return ResourceType{}
}

// NewID returns a UUIDv7, so that ids sort by creation. The generator of google/uuid is
// monotonic within a process; that of the typeid library is not.
func NewID() uuid.UUID { return uuid.Must(uuid.NewV7()) }

// FormatID formats a record's public id as TypeID 0.3: prefix, underscore, base32
// UUIDv7. The library formats, parses and checks every id again, which took a fifth of
// the allocations of a timeline.
func (n ResourceType) FormatID(id uuid.UUID) string { return n.prefix + "_" + base32.Encode(id) }

// FormatOptionalID is FormatID for a reference that may be nil.
func (n ResourceType) FormatOptionalID(id *uuid.UUID) *string {
	if id == nil {
		return nil
	}
	text := n.FormatID(*id)
	return &text
}

// ParseID parses a public id. A malformed id gives not_found. For an id of another
// type, the error names the expected prefix, because that reveals nothing about
// records.
func (n ResourceType) ParseID(text string) (uuid.UUID, error) {
	prefix, suffix, _ := strings.Cut(text, "_")
	if prefix != n.prefix && slices.ContainsFunc(partnerResources, func(other ResourceType) bool { return other.prefix == prefix }) {
		return uuid.Nil, apperr.Fail(apperr.CodeNotFound, "There is no %s with this id. Ids of this kind begin with %s_, not %s_.", n.displayName(), n.prefix, prefix)
	}
	if prefix != n.prefix || suffix > maxIDSuffix {
		return uuid.Nil, n.NotFoundError()
	}
	bytes, err := base32.Decode(suffix)
	if err != nil {
		return uuid.Nil, n.NotFoundError()
	}
	return uuid.FromBytes(bytes)
}

// maxIDSuffix is the suffix of 128 one bits: 26 digits could hold two bits more.
const maxIDSuffix = "7zzzzzzzzzzzzzzzzzzzzzzzzz"

// NotFoundError returns the same error for an unknown, a foreign and a malformed id.
func (n ResourceType) NotFoundError() *apperr.Error {
	return apperr.Fail(apperr.CodeNotFound, "There is no %s with this id.", n.displayName())
}

func (n ResourceType) displayName() string {
	if n == ResourceReleaseResumption {
		return "resumption of releases"
	}
	return strings.ReplaceAll(n.Name, "_", " ")
}
