// Package guard limits GraphQL documents before expensive work: rejecting a document
// costs at most 20 ms and 10 MB, and validating an accepted one stays within the same
// limits.
//
// The guard exists because validation is not linear. Comparing fields of one name is
// quadratic in gqlparser (OverlappingFieldsCanBeMerged), and twenty fragments that spread
// each other twice are a million fields. So a document is checked in steps, each of which
// limits the next: bytes, tokens, the tree, the tree with fragments spread, and finally
// the records that its resolvers can return.
package guard

import (
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"
	"github.com/vektah/gqlparser/v2/parser"

	"parapet/internal/errormap"
	"parapet/model/kernel/apperr"
)

// Limits of a document. A limit of zero allows none.
type Limits struct {
	Bytes      int // of the text
	Tokens     int // including comments
	Nesting    int // of brackets of any kind
	NameBytes  int // of one name: error messages repeat it
	Operations int
	Aliases    int
	Directives int
	Depth      int // levels of fields, with fragments spread
	Fields     int // fields and fragments, with fragments spread
	Merges     int // comparisons for merging fields of one name
	Cost       int // see Document.Cost
}

// Standard returns the default limits: the introspection query and a dashboard of a
// hundred fields use a tenth of them. Fields and Merges follow from measurements of
// validation; see the corpus.
func Standard() Limits {
	return Limits{
		Bytes: 64 << 10, Tokens: 5000, Nesting: 64, NameBytes: 128, Operations: 10, Aliases: 100, Directives: 200,
		Depth: 15, Fields: 2000, Merges: 5_000, Cost: 25_000,
	}
}

// Work is the work of reading a document, in steps instead of time, so that tests can
// check it.
type Work struct {
	Tokens, Fields, Merges int
}

// Guard reads documents of one schema. It is safe for concurrent use.
type Guard struct {
	schema *ast.Schema
	limits Limits
	totals totals
}

// New returns a guard of a schema.
func New(schema *ast.Schema, limits Limits) *Guard {
	return &Guard{schema: schema, limits: limits, totals: countSchema(schema)}
}

// Limit returns the highest accepted cost.
func (g *Guard) Limit() int { return g.limits.Cost }

// Document is a parsed document within the limits, not validated yet.
type Document struct {
	*ast.QueryDocument

	guard       *Guard
	introspects bool
}

// Introspects reports whether the document queries the schema.
func (d *Document) Introspects() bool { return d.introspects }

// Read parses a document within the limits. Errors: validation_failed for invalid
// GraphQL, body_too_large, query_too_costly; all with their location.
func (g *Guard) Read(text string) (*Document, error) {
	document, _, err := g.readDocument(text)
	return document, err
}

func (g *Guard) readDocument(text string) (_ *Document, work Work, _ error) {
	if len(text) > g.limits.Bytes {
		return nil, work, newError(nil, apperr.CodeBodyTooLarge, "The query has at most %d KiB; pass long values as variables.", g.limits.Bytes>>10)
	}
	text, half := joinSurrogates(text)
	if half >= 0 {
		return nil, work, newError(nil, apperr.CodeValidationFailed, "A text in the query holds half a surrogate pair, at byte %d. Write the character itself.", half)
	}
	if err := g.scanTokens(text, &work); err != nil {
		return nil, work, err
	}
	// The scan has counted the tokens, so the parser needs no limit of its own.
	tree, err := parser.ParseQuery(&ast.Source{Input: text})
	if err != nil {
		return nil, work, toSyntaxError(err)
	}
	introspects, err := g.measureTree(tree, &work)
	if err != nil {
		return nil, work, err
	}
	return &Document{tree, g, introspects}, work, nil
}

// newError returns an error at a location of the document.
func newError(at *ast.Position, code apperr.Code, format string, args ...any) error {
	located := gqlerror.Wrap(apperr.Fail(code, format, args...))
	if at != nil && at.Line > 0 {
		located.Locations = []gqlerror.Location{{Line: at.Line, Column: at.Column}}
	}
	return located
}

// newCostError returns query_too_costly at a location.
func newCostError(at *ast.Position, format string, args ...any) error {
	return newError(at, errormap.CodeQueryTooCostly, format, args...)
}
