package wire

import (
	"bytes"
	"sync"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/shopspring/decimal"
)

var encodingOptions = json.JoinOptions(
	json.Deterministic(true),
	json.FormatNilSliceAsNull(false),
	json.FormatNilMapAsNull(false),
	json.WithMarshalers(json.JoinMarshalers(
		json.MarshalToFunc(func(enc *jsontext.Encoder, t time.Time) error {
			return enc.WriteValue(append(AppendTime(append(enc.AvailableBuffer(), '"'), t), '"'))
		}),
		json.MarshalToFunc(func(enc *jsontext.Encoder, d decimal.Decimal) error { // like its MarshalJSON
			return enc.WriteToken(jsontext.String(d.String()))
		}),
	)),
	json.WithUnmarshalers(json.UnmarshalFromFunc(func(dec *jsontext.Decoder, t *time.Time) error {
		text, err := dec.ReadToken()
		if err == nil {
			*t, err = time.Parse(time.RFC3339, text.String())
			*t = t.UTC() // Postgres writes UTC as +00:00, which would become the zone of the process
		}
		return err
	})),
)

// FormatTime returns an instant as records show it: RFC 3339 in UTC, always with
// microseconds, so that times sort as text and keep the database's precision.
func FormatTime(t time.Time) string { return string(AppendTime(nil, t)) }

// AppendTime appends the result of FormatTime to text. A list of records contains
// mostly times, and Go formats whole seconds several times as fast as fractions.
func AppendTime(text []byte, t time.Time) []byte {
	text = t.UTC().AppendFormat(text, time.RFC3339)
	text = append(text[:len(text)-1], ".000000Z"...)
	micros := t.Nanosecond() / int(time.Microsecond)
	for i := len(text) - 2; micros > 0; i, micros = i-1, micros/10 {
		text[i] += byte(micros % 10)
	}
	return text
}

// Encode returns a record as v1 JSON. It is the one encoder of all responses and
// events. Callers must not change the result.
func Encode(record any) ([]byte, error) {
	if r, ok := record.(encodedRecord); ok && r.encodedText() != nil {
		return r.encodedText(), nil
	}
	return marshal(record)
}

// EncodeTo appends what Encode returns to a buffer.
func EncodeTo(out *bytes.Buffer, record any) error {
	if r, ok := record.(encodedRecord); ok && r.encodedText() != nil {
		_, err := out.Write(r.encodedText())
		return err
	}
	return marshalTo(out, record)
}

// marshal encodes a record that has no text yet.
func marshal(record any) ([]byte, error) {
	text := texts.Get().(*bytes.Buffer) //nolint:forcetypeassert // of New
	defer texts.Put(text)
	text.Reset()
	if err := marshalTo(text, record); err != nil {
		return nil, err
	}
	return bytes.Clone(text.Bytes()), nil
}

// marshalTo encodes a record by its appender, or by package json when it has none and when
// the appender fails, for the error.
func marshalTo(out *bytes.Buffer, record any) error {
	a := Appender{text: out.AvailableBuffer()}
	var known bool
	if list, ok := record.(listAppender); ok {
		known = list.appendTo(&a)
	} else {
		known = appendRecord(&a, record)
	}
	if known && a.err == nil {
		_, err := out.Write(a.text)
		return err
	}
	return json.MarshalWrite(out, record, encodingOptions)
}

// texts pools buffers: a large event encodes thousands of records in a transaction, most of
// which are kept in a compressed form only.
var texts = sync.Pool{New: func() any { return new(bytes.Buffer) }}

// ObjectStart is what the text of EncodeObject begins with; the record follows.
const ObjectStart = `{"object":`

// EncodeObject calls use with {"object": record}, the data of an event. use does not keep
// the text.
func EncodeObject(record any, use func(text []byte) error) error {
	text := texts.Get().(*bytes.Buffer) //nolint:forcetypeassert // of New
	defer texts.Put(text)
	text.Reset()
	text.WriteString(ObjectStart)
	if err := EncodeTo(text, record); err != nil {
		return err
	}
	text.WriteByte('}')
	return use(text.Bytes())
}

// encodedRecord is a pointer to any record with a Header.
type encodedRecord interface {
	encodedText() []byte
	setEncodedText(text []byte)
}

// EncodeOnce encodes a record that no longer changes; event, response and stored
// idempotent response reuse the same bytes.
func EncodeOnce(record encodedRecord) (text []byte, err error) {
	if text, err = marshal(record); err == nil {
		record.setEncodedText(text)
	}
	return text, err
}

// SplitMembers splits an object into its members, which share the memory of text.
func SplitMembers(text []byte) (map[string]jsontext.Value, error) {
	members := make(map[string]jsontext.Value, 32)
	in := jsontext.NewDecoder(bytes.NewBuffer(text), jsontext.AllowDuplicateNames(true))
	if _, err := in.ReadToken(); err != nil {
		return nil, err
	}
	for in.PeekKind() == '"' {
		name, err := in.ReadToken()
		if err != nil {
			return nil, err
		}
		member := name.String() // valid until the next read
		value, err := in.ReadValue()
		if err != nil {
			return nil, err
		}
		end := int(in.InputOffset())
		members[member] = text[end-len(value) : end : end]
	}
	return members, nil
}

// Decode decodes the result of Encode. It ignores unknown members, so that an older
// release can read a newer one's bytes.
func Decode(data []byte, record any) error { return json.Unmarshal(data, record, encodingOptions) }
