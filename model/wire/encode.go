package wire

import (
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// timeLayout is RFC 3339 in UTC, always with microseconds, so that times sort
// as text and never lose what the database keeps.
const timeLayout = "2006-01-02T15:04:05.000000Z"

var options = json.JoinOptions(
	json.Deterministic(true),
	json.FormatNilSliceAsNull(false),
	json.FormatNilMapAsNull(false),
	json.WithMarshalers(json.MarshalToFunc(func(enc *jsontext.Encoder, t time.Time) error {
		return enc.WriteToken(jsontext.String(Time(t)))
	})),
)

// Time writes an instant as records show it.
func Time(t time.Time) string { return t.UTC().Format(timeLayout) }

// Encode writes a record as v1 JSON: the one encoder behind every answer and
// every event.
func Encode(record any) ([]byte, error) { return json.Marshal(record, options) }

// Decode reads what Encode wrote. Members it does not know are ignored, so an
// older release can read a newer one's bytes.
func Decode(data []byte, record any) error { return json.Unmarshal(data, record, options) }
