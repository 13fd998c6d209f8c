// Package guard limits GraphQL documents before expensive work: refusing a document costs
// at most 20 ms and 10 MB, and validating an accepted one stays within the same bounds.
//
// The guard exists because validation is not linear. Comparing fields of one
// name is quadratic in gqlparser (OverlappingFieldsCanBeMerged), and twenty
// fragments that spread each other twice are a million fields. So a document is
// read in steps that each bound the next one: bytes, tokens, the tree, the tree
// with its fragments spread, and at last what its resolvers can return.
package guard

import (
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"
	"github.com/vektah/gqlparser/v2/parser"

	"parapet/internal/errormap"
	"parapet/model"
)

// Limits bound a document. A zero limit refuses everything it counts.
type Limits struct {
	Bytes      int // of the text
	Tokens     int // comments count
	Nesting    int // of brackets of any kind
	NameBytes  int // of one name: it comes back in error messages
	Operations int
	Aliases    int
	Directives int
	Depth      int // levels of fields, fragments spread
	Fields     int // fields and fragments, fragments spread
	Merges     int // comparisons that merging fields of one name takes
	Cost       int // see Document.Cost
}

// Standard are the limits of a server that is not configured otherwise: the
// introspection query and a dashboard of a hundred fields use a tenth of them.
// The bounds of Fields and Merges follow from measuring validation; see the
// corpus.
func Standard() Limits {
	return Limits{
		Bytes: 64 << 10, Tokens: 5000, Nesting: 64, NameBytes: 128, Operations: 10, Aliases: 100, Directives: 200,
		Depth: 15, Fields: 2000, Merges: 5_000, Cost: 25_000,
	}
}

// Work is what reading a document took, in steps and not in time, so that a test
// can hold it.
type Work struct {
	Tokens, Fields, Merges int
}

// Guard reads documents of one schema. It may be used by many at once.
type Guard struct {
	schema *ast.Schema
	limits Limits
	totals totals
}

// New is a guard of a schema.
func New(schema *ast.Schema, limits Limits) *Guard {
	return &Guard{schema: schema, limits: limits, totals: countSchema(schema)}
}

// Limit is the highest cost that is let through.
func (g *Guard) Limit() int { return g.limits.Cost }

// Document is a text within the limits, not validated yet.
type Document struct {
	*ast.QueryDocument

	guard       *Guard
	introspects bool
}

// Introspects tells whether the document asks about the schema.
func (d *Document) Introspects() bool { return d.introspects }

// Read parses a text within the limits. Errors: validation_failed for what is no
// GraphQL, body_too_large, query_too_costly; all with the place where it shows.
func (g *Guard) Read(text string) (*Document, error) {
	document, _, err := g.readDocument(text)
	return document, err
}

func (g *Guard) readDocument(text string) (_ *Document, work Work, _ error) {
	if len(text) > g.limits.Bytes {
		return nil, work, newError(nil, model.CodeBodyTooLarge, "The query has at most %d KiB; pass long values as variables.", g.limits.Bytes>>10)
	}
	text, half := joinSurrogates(text)
	if half >= 0 {
		return nil, work, newError(nil, model.CodeValidationFailed, "A text in the query holds half a surrogate pair, at byte %d. Write the character itself.", half)
	}
	if err := g.scanTokens(text, &work); err != nil {
		return nil, work, err
	}
	// What the scan counted is what the parser reads, so its own limit is never met.
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

// newError is an error at a place of the document.
func newError(at *ast.Position, code model.Code, format string, args ...any) error {
	located := gqlerror.Wrap(model.Fail(code, format, args...))
	if at != nil && at.Line > 0 {
		located.Locations = []gqlerror.Location{{Line: at.Line, Column: at.Column}}
	}
	return located
}

// newCostError is a refusal with the limit that was met.
func newCostError(at *ast.Position, format string, args ...any) error {
	return newError(at, errormap.CodeQueryTooCostly, format, args...)
}
