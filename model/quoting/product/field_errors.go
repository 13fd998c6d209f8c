package product

import (
	"cmp"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"

	"parapet/model/money"
)

// Codes of a Field. The list is closed; partners switch on it.
const (
	CodeRequired = "required" // the member is missing
	CodeNull     = "null"     // null for a required value
	CodeType     = "type"     // wrong JSON type
	CodeMinimum  = "minimum"  // below the bound named in the detail
	CodeMaximum  = "maximum"  // above the bound named in the detail
	CodeEnum     = "enum"     // not one of the values named in the detail
	CodeFormat   = "format"   // not a date-time, duration or email
	CodePattern  = "pattern"  // a string of the wrong form
	CodeUnknown  = "unknown"  // not in the schema, but similar to a member of it
	CodeValue    = "value"    // any other rule
)

// Field is one invalid member, with a detail that states what is valid.
type Field struct {
	Pointer string // RFC 6901: /context/location/latitude
	Code    string // one of the codes above
	Detail  string // a sentence that never repeats the value
}

// ContextError lists every invalid member of a context at once, one Field per member,
// ordered by pointer.
type ContextError struct{ Fields []Field }

// Error joins the details.
func (e *ContextError) Error() string {
	details := make([]string, len(e.Fields))
	for i, field := range e.Fields {
		details[i] = field.Detail
	}
	return strings.Join(details, " ")
}

var pointerEscapes = strings.NewReplacer("~", "~0", "/", "~1")

// fieldAt returns a Field for the member at a path below root.
func fieldAt(root string, path []string, code, format string, args ...any) Field {
	var pointer strings.Builder
	pointer.WriteString(root)
	for _, token := range path {
		pointer.WriteByte('/')
		pointer.WriteString(pointerEscapes.Replace(token))
	}
	subject := strings.Join(path, ".")
	if subject == "" {
		subject = "context"
	}
	return Field{Pointer: pointer.String(), Code: code, Detail: subject + " " + fmt.Sprintf(format, args...) + "."}
}

// fieldsFromError converts the schema library's tree of errors: its leaves are the
// invalid members. why returns the reason that a schema states for its bounds.
func fieldsFromError(err error, root string, why func(path []string, code string) string) []Field {
	var tree *jsonschema.ValidationError
	if !errors.As(err, &tree) {
		return []Field{{Pointer: root, Code: CodeValue, Detail: "The value cannot be checked against its schema."}}
	}
	var fields []Field
	var visit func(*jsonschema.ValidationError)
	visit = func(e *jsonschema.ValidationError) {
		for _, cause := range e.Causes {
			visit(cause)
		}
		if len(e.Causes) == 0 {
			fields = append(fields, fieldsOfLeaf(e, root, why)...)
		}
	}
	visit(tree)
	return fields
}

func fieldsOfLeaf(e *jsonschema.ValidationError, root string, why func([]string, string) string) []Field {
	path := slices.Clone(e.InstanceLocation)
	switch k := e.ErrorKind.(type) {
	case *kind.Required:
		return fieldsIn(root, path, k.Missing, CodeRequired, "is required")
	case *kind.AdditionalProperties:
		return fieldsIn(root, path, k.Properties, CodeValue, "is not a known member; leave it out")
	default:
		code, detail := describeKeyword(k)
		if code == CodeType && len(path) > 0 && path[len(path)-1] == "amount" {
			detail += " of minor units: 1250 for 12.50 USD"
		}
		if code == CodeType && len(path) == 1 && path[0] == "limit" {
			detail = "must be " + money.ObjectForm
		}
		return []Field{fieldAt(root, path, code, "%s%s", detail, why(path, code))}
	}
}

// fieldsIn returns the same fault for several members of one object.
func fieldsIn(root string, path, names []string, code, detail string) []Field {
	fields := make([]Field, len(names))
	for i, name := range names {
		fields[i] = fieldAt(root, append(slices.Clone(path), name), code, "%s", detail)
	}
	return fields
}

// describeKeyword returns the code of a failed keyword and what is valid, without the
// subject.
func describeKeyword(k jsonschema.ErrorKind) (code, detail string) {
	switch k := k.(type) {
	case *kind.Type:
		if k.Got == "null" {
			return CodeNull, "must not be null; it must be " + withArticles(k.Want)
		}
		return CodeType, "must be " + withArticles(k.Want)
	case *kind.Minimum:
		return CodeMinimum, "must be at least " + formatRat(k.Want)
	case *kind.Maximum:
		return CodeMaximum, "must be at most " + formatRat(k.Want)
	case *kind.Enum:
		return CodeEnum, "must be one of " + joinValues(k.Want)
	case *kind.Const:
		return CodeEnum, fmt.Sprintf("must be %v", k.Want)
	case *kind.Format:
		return CodeFormat, "must be " + formatHints[k.Want]
	case *kind.Pattern:
		return CodePattern, "must match the pattern " + k.Want
	case *kind.MinLength:
		return CodeValue, fmt.Sprintf("must have at least %d characters", k.Want)
	case *kind.MaxLength:
		return CodeValue, fmt.Sprintf("must have at most %d characters", k.Want)
	case *kind.MinItems:
		return CodeValue, fmt.Sprintf("must have at least %d items", k.Want)
	case *kind.MaxItems:
		return CodeValue, fmt.Sprintf("must have at most %d items", k.Want)
	default:
		return CodeValue, "does not satisfy the schema's " + strings.Join(k.KeywordPath(), "/")
	}
}

// formatHints describes each asserted format.
var formatHints = map[string]string{
	"date-time": "an RFC 3339 time with a zone, such as 2027-01-31T00:00:00Z",
	"duration":  "an ISO 8601 duration, such as P365D",
	"email":     "an email address",
}

func withArticles(types []string) string {
	named := make([]string, 0, len(types))
	for _, t := range types {
		switch t {
		case "null":
			named = append(named, "null")
		case "integer":
			named = append(named, "a whole number")
		case "object", "array":
			named = append(named, "an "+t)
		default:
			named = append(named, "a "+t)
		}
	}
	return strings.Join(named, " or ")
}

func formatRat(bound *big.Rat) string {
	if bound.IsInt() {
		return bound.Num().String()
	}
	return strings.TrimRight(bound.FloatString(6), "0")
}

func joinValues(values []any) string {
	words := make([]string, len(values))
	for i, value := range values {
		words[i] = fmt.Sprint(value)
	}
	return strings.Join(words, ", ")
}

// onePerMember orders fields by pointer and keeps the most basic fault of each member:
// for a number in place of a currency it reports the wrong type, and not that the value
// is unknown. A fault of a member hides those inside it, so that a list of a hundred
// thousand invalid items gives one fault.
func onePerMember(fields []Field) []Field {
	rank := func(f Field) int {
		if f.Code == CodeRequired || f.Code == CodeNull || f.Code == CodeType {
			return 0
		}
		return 1
	}
	slices.SortStableFunc(fields, func(a, b Field) int {
		return cmp.Or(cmp.Compare(a.Pointer, b.Pointer), cmp.Compare(rank(a), rank(b)))
	})
	fields = slices.CompactFunc(fields, func(a, b Field) bool { return a.Pointer == b.Pointer })
	wrong := make(map[string]bool, len(fields))
	for _, field := range fields {
		wrong[field.Pointer] = true
	}
	return slices.DeleteFunc(fields, func(f Field) bool {
		for at := strings.LastIndexByte(f.Pointer, '/'); at >= 0; at = strings.LastIndexByte(f.Pointer[:at], '/') {
			if wrong[f.Pointer[:at]] {
				return true
			}
		}
		return false
	})
}
