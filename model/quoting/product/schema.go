package product

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/shopspring/decimal"
)

// schema is a compiled JSON Schema (2020-12, formats asserted) with the parts that this
// package interprets itself: names, defaults, and bounds of decimal strings, which JSON
// Schema cannot compare.
type schema struct {
	compiled *jsonschema.Schema
	root     *schemaNode
}

// schemaNode is one position in the schema. x-minimum and x-maximum bound decimal
// strings; x-because is the reason of any bound, appended to its error. A member with
// x-instead-of replaces its siblings of that list: their defaults do not apply, and they
// cannot be given too. x-shortest-side-km and x-longest-side-km bound a box.
type schemaNode struct {
	Type       jsontext.Value         `json:"type"`
	Properties map[string]*schemaNode `json:"properties"`
	Items      *schemaNode            `json:"items"`
	MaxItems   *int                   `json:"maxItems"`
	Default    jsontext.Value         `json:"default"`
	Minimum    *float64               `json:"minimum"`
	Maximum    *float64               `json:"maximum"`
	Examples   []string               `json:"examples"`
	XMinimum   *decimal.Decimal       `json:"x-minimum"`
	XMaximum   *decimal.Decimal       `json:"x-maximum"`
	XBecause   string                 `json:"x-because"`

	XInsteadOf      []string `json:"x-instead-of"`
	XShortestSideKM *float64 `json:"x-shortest-side-km"`
	XLongestSideKM  *float64 `json:"x-longest-side-km"`
	libraryKeywords

	names                     []string       // of Properties, sorted
	defaultFull, defaultKnown jsontext.Value // the filled default; nil if there is none, or an invalid one
}

// libraryKeywords are interpreted by the library alone.
type libraryKeywords struct {
	Schema      jsontext.Value `json:"$schema"`
	Title       jsontext.Value `json:"title"`
	Description jsontext.Value `json:"description"`
	Required    jsontext.Value `json:"required"`
	Enum        jsontext.Value `json:"enum"`
	Pattern     jsontext.Value `json:"pattern"`
	Format      jsontext.Value `json:"format"`
	MinLength   jsontext.Value `json:"minLength"`
	MaxLength   jsontext.Value `json:"maxLength"`
	MinItems    jsontext.Value `json:"minItems"`
}

// readSchema parses a context schema in JSON. It allows only keywords that this package
// interprets: behind a reference or an alternative, the library and this package would
// treat defaults and unknown members differently.
func readSchema(source jsontext.Value) (*schema, error) {
	var root schemaNode
	if err := json.Unmarshal(source, &root, json.RejectUnknownMembers(true)); err != nil {
		return nil, fmt.Errorf("not a schema of the plain keywords: %w", err)
	}
	compiled, err := compileSchema(source)
	if err != nil {
		return nil, err
	}
	if err := root.checkBounds(nil); err != nil {
		return nil, err
	}
	root.prepareDefaults()
	return &schema{compiled: compiled, root: &root}, nil
}

// prepareDefaults computes the filled defaults once, because most contexts leave most
// members to their defaults.
func (n *schemaNode) prepareDefaults() {
	if n == nil {
		return
	}
	n.Items.prepareDefaults()
	n.names = slices.Sorted(maps.Keys(n.Properties))
	for _, name := range n.names {
		n.Properties[name].prepareDefaults()
	}
	if n.Default == nil {
		return
	}
	r := new(schemaReading)
	if full, known, err := r.fillValue(n, n.Default, nil); err == nil && len(r.fields) == 0 && len(r.ignored) == 0 {
		n.defaultFull, n.defaultKnown = full, known
	}
}

// compileSchema compiles a schema in JSON. It loads nothing from outside: a document
// must not cause reads of files or addresses.
func compileSchema(source jsontext.Value) (*jsonschema.Schema, error) {
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(source))
	if err != nil {
		return nil, err
	}
	compiler := jsonschema.NewCompiler()
	compiler.DefaultDraft(jsonschema.Draft2020)
	compiler.AssertFormat()
	compiler.UseLoader(jsonschema.SchemeURLLoader{})
	const name = "urn:parapet:schema"
	if err := compiler.AddResource(name, document); err != nil {
		return nil, err
	}
	return compiler.Compile(name)
}

// checkBounds refuses numbers and lists without bounds: bounds keep 1e400 out of
// calculations, and a mebibyte of items out of the library.
func (n *schemaNode) checkBounds(path []string) error {
	if n == nil {
		return nil
	}
	if kind := string(n.Type); (kind == `"number"` || kind == `"integer"`) && (n.Minimum == nil || n.Maximum == nil) {
		return fmt.Errorf("%s is a number and must have a minimum and a maximum", strings.Join(path, "."))
	}
	if n.Items != nil && n.MaxItems == nil {
		return fmt.Errorf("%s has items and must have maxItems", strings.Join(path, "."))
	}
	if err := n.Items.checkBounds(append(slices.Clone(path), "items")); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(n.Properties)) {
		if err := n.Properties[name].checkBounds(append(slices.Clone(path), name)); err != nil {
			return err
		}
	}
	return nil
}

// nodeAt returns the node for a path into a value, nil where the schema has none.
func (n *schemaNode) nodeAt(path []string) *schemaNode {
	for _, token := range path {
		switch {
		case n == nil:
			return nil
		case n.Properties[token] != nil:
			n = n.Properties[token]
		default:
			n = n.Items
		}
	}
	return n
}

// explainBound completes the error for a position: with the schema's reason for a
// bound, or an example of a form.
func (s *schema) explainBound(path []string, code string) string {
	n := s.root.nodeAt(path)
	switch {
	case n == nil:
		return ""
	case code == CodePattern && len(n.Examples) > 0:
		return fmt.Sprintf(", such as %q", n.Examples[0])
	case (code == CodeMinimum || code == CodeMaximum) && n.XBecause != "":
		return ": " + n.XBecause
	}
	return ""
}
