package product

import (
	"bytes"
	"errors"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/agnivade/levenshtein"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/shopspring/decimal"

	"parapet/model/money"
)

// schemaReading is the state of validating one value against a schema.
type schemaReading struct {
	root    string         // pointer prefix of every field: /context
	full    jsontext.Value // as given, defaults filled in, unknown members kept
	known   jsontext.Value // only members of the schema, every number within float64
	ignored []string       // unknown members, nested ones with dots
	fields  []Field
}

// readValue fills defaults, separates unknown members and collects all faults. It goes
// no deeper than the schema: unknown members are kept unparsed, however deep or large.
func (s *schema) readValue(value jsontext.Value, root string) *schemaReading {
	r := &schemaReading{root: root}
	if len(bytes.TrimSpace(value)) == 0 {
		r.fields = []Field{fieldAt(root, nil, CodeRequired, "is required")}
		return r
	}
	if !value.IsValid() {
		r.fields = []Field{fieldAt(root, nil, CodeType, "must be one JSON object without repeated names")}
		return r
	}
	var err error
	if r.full, r.known, err = r.fillValue(s.root, value, nil); err != nil {
		r.fields = []Field{fieldAt(root, nil, CodeValue, "cannot be read")}
		return r
	}
	instance, err := jsonschema.UnmarshalJSON(bytes.NewReader(r.known))
	if err == nil {
		err = s.compiled.Validate(instance)
	}
	if err != nil {
		r.fields = append(r.fields, fieldsFromError(err, root, s.explainBound)...)
	}
	r.fields = onePerMember(r.fields)
	slices.Sort(r.ignored)
	return r
}

// fillValue returns the value in two forms: as stored, and as validated.
func (r *schemaReading) fillValue(n *schemaNode, value jsontext.Value, path []string) (full, known jsontext.Value, err error) {
	switch value.Kind() {
	case '{':
		return r.fillObject(n, value, path)
	case '[':
		return r.fillArray(n, value, path)
	case '0':
		return readNumber(n, value)
	case '"':
		r.boundDecimal(n, value, path)
	}
	return value, value, nil
}

func (r *schemaReading) fillObject(n *schemaNode, value jsontext.Value, path []string) (full, known jsontext.Value, err error) {
	members, err := splitMembers(value)
	if err != nil {
		return nil, nil, err
	}
	var kept, judged objectWriter
	given := make(map[string]bool, len(members))
	for _, m := range members {
		given[m.name] = true
		child := n.Properties[m.name]
		if child == nil {
			kept.addMember(m.name, m.value)
			if near := n.closestName(m.name); near != "" {
				r.fields = append(r.fields, fieldAt(r.root, append(slices.Clone(path), m.name), CodeUnknown, "does not exist; use %s", near))
				continue
			}
			if n.Properties != nil { // a wrong type instead of an object is one error, not many
				r.ignored = append(r.ignored, strings.Join(append(slices.Clone(path), m.name), "."))
			}
			continue
		}
		if err := r.fillMember(child, m, path, &kept, &judged); err != nil {
			return nil, nil, err
		}
	}
	replaced := r.findReplaced(n, given, path)
	for _, name := range n.names {
		child := n.Properties[name]
		switch {
		case given[name] || replaced[name] || child.Default == nil:
		case child.defaultFull != nil:
			kept.addMember(name, child.defaultFull)
			judged.addMember(name, child.defaultKnown)
		default:
			if err := r.fillMember(child, member{name, child.Default}, path, &kept, &judged); err != nil {
				return nil, nil, err
			}
		}
	}
	return kept.toJSON(), judged.toJSON(), nil
}

// findReplaced returns the members that given ones replace, and refuses those that are
// given too.
func (r *schemaReading) findReplaced(n *schemaNode, given map[string]bool, path []string) map[string]bool {
	replaced := make(map[string]bool)
	for _, name := range n.names {
		if !given[name] {
			continue
		}
		for _, other := range n.Properties[name].XInsteadOf {
			if replaced[other] = true; given[other] {
				r.fields = append(r.fields, fieldAt(r.root, append(slices.Clone(path), other), CodeValue, "must be left out where %s is given", name))
			}
		}
	}
	return replaced
}

// unitSuffix matches the unit at the end of a member's name.
var unitSuffix = regexp.MustCompile(`_(km|mm|kn|hpa|c)$`)

// closestName returns the member that an unknown name probably means: at most two edits
// away, or equal without the unit at its end. It is empty if there is none.
func (n *schemaNode) closestName(name string) string {
	name = strings.ToLower(name)
	best, edits := "", 3
	for _, known := range n.names {
		distance := levenshtein.ComputeDistance(name, known)
		if name == unitSuffix.ReplaceAllString(known, "") {
			distance = 0
		}
		if distance < edits {
			best, edits = known, distance
		}
	}
	return best
}

func (r *schemaReading) fillMember(n *schemaNode, m member, path []string, kept, judged *objectWriter) error {
	full, known, err := r.fillValue(n, m.value, append(slices.Clone(path), m.name))
	kept.addMember(m.name, full)
	judged.addMember(m.name, known)
	return err
}

func (r *schemaReading) fillArray(n *schemaNode, value jsontext.Value, path []string) (full, known jsontext.Value, err error) {
	if n.Items == nil {
		return value, jsontext.Value("[]"), nil
	}
	var items, kept, judged []jsontext.Value
	if err := json.Unmarshal(value, &items); err != nil {
		return nil, nil, err
	}
	if most := *n.MaxItems; len(items) > most {
		items = items[:most+1] // one too many gives the same error as a hundred thousand, and is fast
	}
	for i, item := range items {
		full, known, err := r.fillValue(n.Items, item, append(slices.Clone(path), strconv.Itoa(i)))
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

// boundDecimal checks a decimal string against x-minimum and x-maximum. The schema's
// pattern checks strings that are not short plain decimals.
func (r *schemaReading) boundDecimal(n *schemaNode, value jsontext.Value, path []string) {
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

// readNumber returns a number in both forms. A whole number is written plainly: 1e7 is
// 10000000, in an amount as in a number of days. A fraction must not become whole by
// rounding.
func readNumber(n *schemaNode, value jsontext.Value) (full, known jsontext.Value, err error) {
	if !bytes.Contains(n.Type, []byte(`"integer"`)) {
		return value, clampNumber(value), nil
	}
	x, err := money.ParseWhole(string(value))
	switch {
	case err == nil:
		plain := jsontext.Value(strconv.FormatInt(x, 10))
		return plain, plain, nil
	case errors.Is(err, money.ErrNotWhole):
		return value, jsontext.Value("0.5"), nil
	default:
		return value, clampNumber(value), nil
	}
}

// clampNumber clamps a number literal to the range of float64. The schema library
// compares exact fractions, which a literal such as 1e999999999 cannot become; every
// number of a schema has bounds, so a clamped one is still refused.
func clampNumber(value jsontext.Value) jsontext.Value {
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

// hasFaultWithin reports whether a member, or anything inside it, is invalid.
func (r *schemaReading) hasFaultWithin(pointer string) bool {
	return r.hasFault(pointer) || slices.ContainsFunc(r.fields, func(f Field) bool { return strings.HasPrefix(f.Pointer, pointer+"/") })
}

// hasFault reports whether a member itself is invalid.
func (r *schemaReading) hasFault(pointer string) bool {
	return slices.ContainsFunc(r.fields, func(f Field) bool { return f.Pointer == r.root || f.Pointer == pointer })
}

// withoutFaults returns the known part without invalid members, so that further rules
// do not report the same fault again. An object keeps its valid members; a list with a
// fault is omitted.
func (r *schemaReading) withoutFaults(value jsontext.Value, at string) (jsontext.Value, error) {
	members, err := splitMembers(value)
	if err != nil {
		return nil, err
	}
	var out objectWriter
	for _, m := range members {
		pointer := at + "/" + pointerEscapes.Replace(m.name)
		if !r.hasFaultWithin(pointer) {
			out.addMember(m.name, m.value)
			continue
		}
		if m.value.Kind() != '{' || r.hasFault(pointer) {
			continue
		}
		inner, err := r.withoutFaults(m.value, pointer)
		if err != nil {
			return nil, err
		}
		out.addMember(m.name, inner)
	}
	return out.toJSON(), nil
}
