package product

import (
	"bytes"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/shopspring/decimal"
)

// schema is a compiled JSON Schema (2020-12, formats asserted) with the parts of
// it that we read ourselves: names, defaults, and our bounds of decimal strings,
// which JSON Schema cannot compare.
type schema struct {
	compiled *jsonschema.Schema
	root     *schemaNode
}

// schemaNode is one place in the schema. x-minimum and x-maximum bound decimal
// strings; x-because ends the sentence of any bound with its reason.
type schemaNode struct {
	Type       jsontext.Value         `json:"type"`
	Properties map[string]*schemaNode `json:"properties"`
	Items      *schemaNode            `json:"items"`
	Default    jsontext.Value         `json:"default"`
	Minimum    *float64               `json:"minimum"`
	Maximum    *float64               `json:"maximum"`
	Examples   []string               `json:"examples"`
	XMinimum   *decimal.Decimal       `json:"x-minimum"`
	XMaximum   *decimal.Decimal       `json:"x-maximum"`
	XBecause   string                 `json:"x-because"`
	keywords
}

// keywords are read by the library alone.
type keywords struct {
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
	MaxItems    jsontext.Value `json:"maxItems"`
}

// readSchema reads a context schema written as JSON. Only keywords that the walk
// understands are allowed: behind a reference or an alternative, defaults and
// unknown members would be judged differently by us and by the library.
func readSchema(source jsontext.Value) (*schema, error) {
	var root schemaNode
	if err := json.Unmarshal(source, &root, json.RejectUnknownMembers(true)); err != nil {
		return nil, fmt.Errorf("not a schema of the plain keywords: %w", err)
	}
	compiled, err := compile(source)
	if err != nil {
		return nil, err
	}
	return &schema{compiled: compiled, root: &root}, root.bounded(nil)
}

// compile makes a validator of a schema written as JSON. Nothing outside of it
// is ever loaded: a document must not make us read files or addresses.
func compile(source jsontext.Value) (*jsonschema.Schema, error) {
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

// bounded refuses numbers without bounds: they are what keeps 1e400 out of
// everything that calculates.
func (n *schemaNode) bounded(path []string) error {
	if kind := string(n.Type); (kind == `"number"` || kind == `"integer"`) && (n.Minimum == nil || n.Maximum == nil) {
		return fmt.Errorf("%s is a number and must have a minimum and a maximum", strings.Join(path, "."))
	}
	if n.Items != nil {
		if err := n.Items.bounded(append(slices.Clone(path), "items")); err != nil {
			return err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(n.Properties)) {
		if err := n.Properties[name].bounded(append(slices.Clone(path), name)); err != nil {
			return err
		}
	}
	return nil
}

// at is the node for a path into a value, nil where the schema says nothing.
func (n *schemaNode) at(path []string) *schemaNode {
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

// why ends a sentence about a place: with the reason the schema states for a
// bound, with an example of a form.
func (s *schema) why(path []string, code string) string {
	n := s.root.at(path)
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

// reading is one value on its way through a schema.
type reading struct {
	root    string         // pointer prefix of every field: /context
	full    jsontext.Value // as given, defaults filled in, unknown members kept
	known   jsontext.Value // only what the schema names, every number in reach of a float64
	ignored []string       // unknown members, nested ones with dots
	fields  []Field
}

// read fills defaults, sets unknown members aside and collects everything that
// is wrong. It goes no deeper than the schema does: what is unknown is kept
// unread, however deep or large.
func (s *schema) read(value jsontext.Value, root string) *reading {
	r := &reading{root: root}
	if len(bytes.TrimSpace(value)) == 0 {
		r.fields = []Field{fieldAt(root, nil, CodeRequired, "is required")}
		return r
	}
	if !value.IsValid() {
		r.fields = []Field{fieldAt(root, nil, CodeType, "must be one JSON object without repeated names")}
		return r
	}
	var err error
	if r.full, r.known, err = r.fill(s.root, value, nil); err != nil {
		r.fields = []Field{fieldAt(root, nil, CodeValue, "cannot be read")}
		return r
	}
	instance, err := jsonschema.UnmarshalJSON(bytes.NewReader(r.known))
	if err == nil {
		err = s.compiled.Validate(instance)
	}
	if err != nil {
		r.fields = append(r.fields, fieldsOf(err, root, s.why)...)
	}
	r.fields = onePerMember(r.fields)
	slices.Sort(r.ignored)
	return r
}

// fill is the value twice: as it is kept, and as it is judged.
func (r *reading) fill(n *schemaNode, value jsontext.Value, path []string) (full, known jsontext.Value, err error) {
	switch kind := value.Kind(); {
	case kind == '{':
		return r.fillObject(n, value, path)
	case kind == '[':
		return r.fillArray(n, value, path)
	case kind == '0':
		return value, tame(value), nil
	case kind == '"':
		r.boundDecimal(n, value, path)
	}
	return value, value, nil
}

func (r *reading) fillObject(n *schemaNode, value jsontext.Value, path []string) (full, known jsontext.Value, err error) {
	members, err := membersOf(value)
	if err != nil {
		return nil, nil, err
	}
	var kept, judged object
	given := make(map[string]bool, len(members))
	for _, m := range members {
		given[m.name] = true
		child := n.Properties[m.name]
		if child == nil {
			kept.add(m.name, m.value)
			if n.Properties != nil { // an object where something else belongs is one error, not many
				r.ignored = append(r.ignored, strings.Join(append(slices.Clone(path), m.name), "."))
			}
			continue
		}
		if err := r.fillMember(child, m, path, &kept, &judged); err != nil {
			return nil, nil, err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(n.Properties)) {
		if child := n.Properties[name]; !given[name] && child.Default != nil {
			if err := r.fillMember(child, member{name, child.Default}, path, &kept, &judged); err != nil {
				return nil, nil, err
			}
		}
	}
	return kept.value(), judged.value(), nil
}

func (r *reading) fillMember(n *schemaNode, m member, path []string, kept, judged *object) error {
	full, known, err := r.fill(n, m.value, append(slices.Clone(path), m.name))
	kept.add(m.name, full)
	judged.add(m.name, known)
	return err
}

func (r *reading) fillArray(n *schemaNode, value jsontext.Value, path []string) (full, known jsontext.Value, err error) {
	if n.Items == nil {
		return value, jsontext.Value("[]"), nil
	}
	var items, kept, judged []jsontext.Value
	if err := json.Unmarshal(value, &items); err != nil {
		return nil, nil, err
	}
	for i, item := range items {
		full, known, err := r.fill(n.Items, item, append(slices.Clone(path), strconv.Itoa(i)))
		if err != nil {
			return nil, nil, err
		}
		kept, judged = append(kept, full), append(judged, known)
	}
	if full, err = json.Marshal(kept); err != nil {
		return nil, nil, err
	}
	known, err = json.Marshal(judged)
	return full, known, err
}

// boundDecimal holds a decimal string against x-minimum and x-maximum. Strings
// that are no short plain decimal are left to the schema's pattern.
func (r *reading) boundDecimal(n *schemaNode, value jsontext.Value, path []string) {
	if n.XMinimum == nil && n.XMaximum == nil || len(value) > 34 || bytes.ContainsAny(value, "eE") {
		return
	}
	var text string
	if json.Unmarshal(value, &text) != nil {
		return
	}
	x, err := decimal.NewFromString(text)
	because := ""
	if n.XBecause != "" {
		because = ": " + n.XBecause
	}
	switch {
	case err != nil:
	case n.XMinimum != nil && x.LessThan(*n.XMinimum):
		r.fields = append(r.fields, fieldAt(r.root, path, CodeMinimum, "must be at least %s%s", n.XMinimum, because))
	case n.XMaximum != nil && x.GreaterThan(*n.XMaximum):
		r.fields = append(r.fields, fieldAt(r.root, path, CodeMaximum, "must be at most %s%s", n.XMaximum, because))
	}
}

// tame brings a number literal into the reach of a float64. The schema library
// compares exact fractions, which a literal such as 1e999999999 cannot become;
// every number of a schema has bounds, so a tamed one is refused all the same.
func tame(value jsontext.Value) jsontext.Value {
	x, err := strconv.ParseFloat(string(value), 64)
	switch {
	case math.IsInf(x, 0):
		x = math.Copysign(math.MaxFloat64, x)
	case err != nil:
		x = 0
	case len(value) <= 32 && (x == 0 || math.Abs(x) > 1e-300) && !bytes.ContainsAny(value, "eE"):
		return value
	}
	return jsontext.Value(strconv.FormatFloat(x, 'f', -1, 64))
}

// faulty tells whether a member, or anything inside it, is wrong.
func (r *reading) faulty(name string) bool {
	pointer := r.root + "/" + name
	return slices.ContainsFunc(r.fields, func(f Field) bool {
		return f.Pointer == r.root || f.Pointer == pointer || strings.HasPrefix(f.Pointer, pointer+"/")
	})
}

// sound is the known part without its faulty members: what further rules may
// look at without finding the same fault again.
func (r *reading) sound() (jsontext.Value, error) {
	members, err := membersOf(r.known)
	if err != nil {
		return nil, err
	}
	var out object
	for _, m := range members {
		if !r.faulty(m.name) {
			out.add(m.name, m.value)
		}
	}
	return out.value(), nil
}
