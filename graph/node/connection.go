package node

import (
	"cmp"
	"context"

	"parapet/model/audit"
	"parapet/model/kernel/optional"
	"parapet/model/kernel/store"
	"parapet/model/quoting/pricing"
	"parapet/model/wire"
)

// Connection is a page of nodes and its position in its list. Expensive values are
// computed on request.
type Connection[N any] struct {
	nodes      []N
	hasMore    bool
	hasEarlier bool
	page       cursorPage
}

// cursorPage is a store.Page of any records.
type cursorPage interface {
	CursorAt(record int) (string, error)
	Total(ctx context.Context) (n int, more bool, err error)
}

// Edge is a node of a page and its position.
type Edge[N any] struct {
	Node N

	at   int
	page cursorPage
}

//nolint:revive // each field has a trailing comment
type (
	QuoteConnection               = Connection[*Quote]                // of quotes
	QuoteEdge                     = Edge[*Quote]                      // to a quote
	PolicyConnection              = Connection[*Policy]               // of policies
	PolicyEdge                    = Edge[*Policy]                     // to a policy
	ClaimConnection               = Connection[*Claim]                // of claims
	ClaimEdge                     = Edge[*Claim]                      // to a claim
	PayoutConnection              = Connection[*Payout]               // of payouts
	PayoutEdge                    = Edge[*Payout]                     // to a payout
	PayoutMethodConnection        = Connection[*PayoutMethod]         // of payout methods
	PayoutMethodEdge              = Edge[*PayoutMethod]               // to a payout method
	TimelineConnection            = Connection[*wire.TimelineEntry]   // of a timeline
	TimelineEdge                  = Edge[*wire.TimelineEntry]         // to an entry of it
	MessageConnection             = Connection[*Message]              // of messages
	MessageEdge                   = Edge[*Message]                    // to a message
	AttachmentConnection          = Connection[*Attachment]           // of documents
	AttachmentEdge                = Edge[*Attachment]                 // to a document
	ProductConnection             = Connection[*Product]              // of products
	ProductEdge                   = Edge[*Product]                    // to a product
	OccurrenceConnection          = Connection[*Occurrence]           // of occurrences
	OccurrenceEdge                = Edge[*Occurrence]                 // to an occurrence
	ObservationConnection         = Connection[*Observation]          // of observations
	ObservationEdge               = Edge[*Observation]                // to an observation
	ObservationRevisionConnection = Connection[*ObservationRevision]  // of reports of an observation
	ObservationRevisionEdge       = Edge[*ObservationRevision]        // to a report of an observation
	EventConnection               = Connection[*Event]                // of events
	EventEdge                     = Edge[*Event]                      // to an event
	WebhookEndpointConnection     = Connection[*WebhookEndpoint]      // of webhook endpoints
	WebhookEndpointEdge           = Edge[*WebhookEndpoint]            // to a webhook endpoint
	DeliveryConnection            = Connection[*Delivery]             // of deliveries
	DeliveryEdge                  = Edge[*Delivery]                   // to a delivery
	ExplanationConnection         = Connection[*Explanation]          // of explanations
	ExplanationEdge               = Edge[*Explanation]                // to an explanation
	StationConnection             = Connection[*wire.Station]         // of stations
	StationEdge                   = Edge[*wire.Station]               // to a station
	SourceConnection              = Connection[*wire.Source]          // of sources
	SourceEdge                    = Edge[*wire.Source]                // to a source
	SandboxRunConnection          = Connection[*wire.SandboxRun]      // of runs of the sandbox
	SandboxRunEdge                = Edge[*wire.SandboxRun]            // to a run of the sandbox
	PartnerConnection             = Connection[*wire.Partner]         // of partners
	PartnerEdge                   = Edge[*wire.Partner]               // to a partner
	LedgerEntryConnection         = Connection[*LedgerEntry]          // of entries of the ledger
	LedgerEntryEdge               = Edge[*LedgerEntry]                // to an entry of the ledger
	CapacityConnection            = Connection[*wire.Capacity]        // of capacities
	CapacityEdge                  = Edge[*wire.Capacity]              // to a capacity
	MoratoriumConnection          = Connection[*Moratorium]           // of moratoria
	MoratoriumEdge                = Edge[*Moratorium]                 // to a moratorium
	WeighedEventConnection        = Connection[*pricing.WeighedEvent] // of the events of a price
	WeighedEventEdge              = Edge[*pricing.WeighedEvent]       // to an event of a price
	AuditConnection               = Connection[*audit.Entry]          // of the audit log
	JobConnection                 = Connection[*Job]                  // of jobs
	JobEdge                       = Edge[*Job]                        // to a job
	AuditEdge                     = Edge[*audit.Entry]                // to an entry of it
	CallConnection                = Connection[*audit.Call]           // of calls
	CallEdge                      = Edge[*audit.Call]                 // to a call
)

func newConnection[R, N any](page *store.Page[R], nodes []*N) *Connection[*N] {
	return &Connection[*N]{nodes: nodes, hasMore: page.HasMore, hasEarlier: page.HasEarlier, page: page}
}

// toConnection makes a connection of a page of a list.
func toConnection[R, N any](together func([]*R) []*N) func(*store.Page[R], error) (*Connection[*N], error) {
	return func(page *store.Page[R], err error) (*Connection[*N], error) {
		if err != nil {
			return nil, err
		}
		return newConnection(page, together(pointersTo(page.Data))), nil
	}
}

// asNodes returns records without relations as nodes.
func asNodes[R any](records []*R) []*R { return records }

// wrapEach makes nodes with extra fields of records without relations.
func wrapEach[R, N any](records []*R, node func(*R) *N) []*N {
	all := make([]*N, len(records))
	for i, record := range records {
		all[i] = node(record)
	}
	return all
}

func pointersTo[R any](records []R) []*R {
	all := make([]*R, len(records))
	for i := range records {
		all[i] = &records[i]
	}
	return all
}

// Nodes returns the records of the page.
func (c *Connection[N]) Nodes() []N {
	if c.nodes == nil {
		return []N{}
	}
	return c.nodes
}

// Edges returns the records with their cursors.
func (c *Connection[N]) Edges() []*Edge[N] {
	edges := make([]*Edge[N], len(c.nodes))
	for i, node := range c.nodes {
		edges[i] = &Edge[N]{node, i, c.page}
	}
	return edges
}

// Cursor returns the position in the list.
func (e *Edge[N]) Cursor() (string, error) { return e.page.CursorAt(e.at) }

// TotalCount returns the length of the list, up to the counting limit.
func (c *Connection[N]) TotalCount(ctx context.Context) (int, error) {
	n, _, err := c.page.Total(ctx)
	return n, err
}

// TotalCountExceeded reports whether the list is longer than TotalCount.
func (c *Connection[N]) TotalCountExceeded(ctx context.Context) (bool, error) {
	_, more, err := c.page.Total(ctx)
	return more, err
}

// PageInfo returns the position of the page.
func (c *Connection[N]) PageInfo() *PageInfo {
	return &PageInfo{HasNextPage: c.hasMore, HasPreviousPage: c.hasEarlier, count: len(c.nodes), page: c.page}
}

// PageInfo is the position of a page in its list.
type PageInfo struct {
	HasNextPage     bool
	HasPreviousPage bool

	count int // of nodes
	page  cursorPage
}

// StartCursor returns the position of the first node, nil without one.
func (p *PageInfo) StartCursor() (*string, error) { return p.cursorAt(0) }

// EndCursor returns the position of the last node, nil without one.
func (p *PageInfo) EndCursor() (*string, error) { return p.cursorAt(p.count - 1) }

func (p *PageInfo) cursorAt(node int) (*string, error) {
	if p.count == 0 {
		return nil, nil
	}
	cursor, err := p.page.CursorAt(node)
	return &cursor, err
}

// pageRequest requests the page after a cursor. first: 0 would mean the default size, so
// it becomes an invalid size and is rejected.
func pageRequest(first *int, after *string) store.PageRequest {
	in := store.PageRequest{Cursor: optional.OrZero(after)}
	if first != nil {
		in.Limit = cmp.Or(*first, -1)
	}
	return in
}

// orderedPage is pageRequest for a list with both orders.
func orderedPage(first *int, after, order *string) store.PageRequest {
	in := pageRequest(first, after)
	in.Order = store.Order(optional.OrZero(order))
	return in
}
