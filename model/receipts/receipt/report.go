package receipt

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Report is the result of verifying a receipt. The receipt is right if Differences is
// empty; NotChecked is what only the history or another release can show.
type Report struct {
	Type        string       `json:"type"` // quote, claim
	ID          string       `json:"id"`
	KeyID       string       `json:"key_id"`
	KeyStatus   string       `json:"key_status"` // empty for a pinned key
	Checked     int          `json:"checked"`    // values that were computed and are as stated
	Differences []Difference `json:"differences"`
	NotChecked  []Remark     `json:"not_checked"`
	Decided     []Remark     `json:"decided"` // what was decided and does not follow from readings
}

// Difference is a member of the payload that is not what its inputs give.
type Difference struct {
	Pointer  string `json:"pointer"` // JSON pointer into the payload
	Stated   string `json:"stated"`  // empty: missing
	Computed string `json:"computed"`
}

// Remark says why a part of the payload was not computed.
type Remark struct {
	Pointer string `json:"pointer"`
	Reason  string `json:"reason"`
}

// compare compares all values of a stated part of the payload with the computed one. A
// computed null equals a missing member: later releases add members.
func (r *Report) compare(pointer string, stated, computed any) {
	left, right := flatten(pointer, stated), flatten(pointer, computed)
	all := maps.Clone(left)
	maps.Copy(all, right)
	for _, at := range slices.Sorted(maps.Keys(all)) {
		if left[at] == right[at] || left[at] == "" && right[at] == "null" {
			r.Checked++
			continue
		}
		r.Differences = append(r.Differences, Difference{Pointer: at, Stated: left[at], Computed: right[at]})
	}
}

func (r *Report) requireTrue(pointer string, ok bool, stated, computed string) {
	if ok {
		r.Checked++
		return
	}
	r.Differences = append(r.Differences, Difference{Pointer: pointer, Stated: stated, Computed: computed})
}

// flatten returns every value below a pointer by its own pointer, as JSON text. Empty
// objects and lists are values.
func flatten(pointer string, value any) map[string]string {
	flat := make(map[string]string)
	text, err := Canonical(value)
	if err != nil {
		flat[pointer] = err.Error() // an impossible value differs from any other
		return flat
	}
	var tree any
	if err := json.Unmarshal(text, &tree); err != nil {
		flat[pointer] = err.Error()
		return flat
	}
	flattenInto(flat, jsontext.Pointer(pointer), tree)
	return flat
}

func flattenInto(flat map[string]string, at jsontext.Pointer, value any) {
	switch v := value.(type) {
	case map[string]any:
		for name, member := range v {
			flattenInto(flat, at.AppendToken(name), member)
		}
		if len(v) == 0 {
			flat[string(at)] = "{}"
		}
	case []any:
		for i, element := range v {
			flattenInto(flat, at.AppendToken(strconv.Itoa(i)), element)
		}
		if len(v) == 0 {
			flat[string(at)] = "[]"
		}
	default:
		text, err := Canonical(v)
		if err != nil {
			text = fmt.Appendf(nil, "%v", v)
		}
		flat[string(at)] = string(text)
	}
}
