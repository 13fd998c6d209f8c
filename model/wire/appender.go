package wire

import (
	"errors"
	"maps"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/shopspring/decimal"
)

// An Appender appends JSON to a text. The records that a large event writes for each claim,
// and the events that webhooks send, have generated functions, which encode them in a third
// of the time of package json (BenchmarkEncode, of a claim). Generated functions and package json
// write the same bytes: TestAppendersWriteWhatPackageJSONWrites. BenchmarkStorm/Decide/Staged
// of make bench/storm and BenchmarkDelivery measure what depends on their speed.
type Appender struct {
	text []byte
	err  error // the first
}

// NewAppender returns an appender of an empty text with room for a number of bytes.
func NewAppender(room int) *Appender { return &Appender{text: make([]byte, 0, room)} }

// Text returns the text, or the first error.
func (a *Appender) Text() ([]byte, error) { return a.text, a.err }

// Next begins the element or member i.
func (a *Appender) Next(i int) {
	if i > 0 {
		a.text = append(a.text, ',')
	}
}

// Token appends JSON as it is.
func (a *Appender) Token(text string) { a.text = append(a.text, text...) }

// String appends a string. Error: invalid UTF-8.
func (a *Appender) String(s string) {
	text, err := jsontext.AppendQuote(a.text, s)
	a.text = text
	a.fail(err)
}

func (a *Appender) fail(err error) {
	if err != nil && a.err == nil {
		a.err = err
	}
}

// Int appends an integer.
func (a *Appender) Int(n int64) { a.text = strconv.AppendInt(a.text, n, 10) }

// CanonicalInt appends an integer that canonical JSON writes digit by digit. Error: one that
// a double does not hold.
func (a *Appender) CanonicalInt(n int64) {
	if n < -maxExact || n > maxExact {
		a.fail(errInexact)
	}
	a.Int(n)
}

// maxExact is the largest integer up to which doubles hold each.
const maxExact = 1 << 53

var errInexact = errors.New("a double does not hold the integer")

// Bool appends true or false.
func (a *Appender) Bool(b bool) { a.text = strconv.AppendBool(a.text, b) }

// Float appends a number. Error: one that is not finite.
func (a *Appender) Float(f float64) {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		a.Other(f) // refuses it
		return
	}
	a.text = append(a.text, jsontext.Float(f).String()...)
}

// CanonicalFloat appends a number as canonical JSON does: zero has no sign. Error: one that
// is not finite.
func (a *Appender) CanonicalFloat(f float64) { a.Float(f + 0) }

// Time appends an instant as FormatTime writes it.
func (a *Appender) Time(t time.Time) {
	a.text = append(AppendTime(append(a.text, '"'), t), '"')
}

// Decimal appends a decimal as a string.
func (a *Appender) Decimal(d decimal.Decimal) { a.String(d.String()) }

// Texts appends an object of strings in order of their names.
func (a *Appender) Texts(texts map[string]string) {
	if len(texts) == 0 {
		a.Token("{}")
		return
	}
	a.text = append(a.text, '{')
	for i, key := range slices.Sorted(maps.Keys(texts)) {
		a.Next(i)
		a.String(key)
		a.text = append(a.text, ':')
		a.String(texts[key])
	}
	a.text = append(a.text, '}')
}

// JSON appends JSON without its white space; null for none. Error: text that is not JSON.
func (a *Appender) JSON(value jsontext.Value) {
	if value == nil {
		a.Token("null")
		return
	}
	text, err := jsontext.AppendFormat(a.text, value)
	a.text = text
	a.fail(err)
}

// listAppender is a List.
type listAppender interface {
	appendTo(a *Appender) (known bool)
}

// appendTo appends a list of records that have an appender; known is false for others.
func (l *List[T]) appendTo(a *Appender) (known bool) {
	if l == nil {
		return false
	}
	a.Token(`{"object":`)
	a.String(l.Object)
	a.Token(`,"data":[`)
	for i := range l.Data {
		a.Next(i)
		if !appendRecord(a, &l.Data[i]) {
			return false
		}
	}
	a.Token(`],"has_more":`)
	a.Bool(l.HasMore)
	a.Token(`,"next_cursor":`)
	if l.NextCursor == nil {
		a.Token("null}")
		return true
	}
	a.String(*l.NextCursor)
	a.Token("}")
	return true
}

// Other appends a value by package json.
func (a *Appender) Other(value any) {
	text, err := json.Marshal(value, encodingOptions)
	a.text = append(a.text, text...)
	a.fail(err)
}
