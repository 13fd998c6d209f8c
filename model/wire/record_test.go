package wire_test

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/shopspring/decimal"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"parapet/model/hazard/trigger"
	"parapet/model/wire"
)

// record is a public type: its zero value, and a generator of pointers to any value.
type record struct {
	zero any
	draw func(*rapid.T) any
}

func recordOf[T any]() record {
	values := rapid.MakeCustom[T](rapid.MakeConfig{Types: map[reflect.Type]*rapid.Generator[any]{
		reflect.TypeFor[time.Time]():       drawTime().AsAny(),
		reflect.TypeFor[decimal.Decimal](): drawDecimal().AsAny(),
		reflect.TypeFor[jsontext.Value]():  drawJSON().AsAny(),
		reflect.TypeFor[wire.Header]():     drawHeader().AsAny(),
	}})
	return record{*new(T), func(t *rapid.T) any { return new(values.Draw(t, "record")) }}
}

func drawTime() *rapid.Generator[time.Time] {
	return rapid.Custom(func(t *rapid.T) time.Time { return time.UnixMicro(rapid.Int64Range(-1e15, 4e15).Draw(t, "µs")).UTC() })
}

func drawDecimal() *rapid.Generator[decimal.Decimal] {
	return rapid.Custom(func(t *rapid.T) decimal.Decimal {
		return decimal.New(rapid.Int64().Draw(t, "digits"), rapid.Int32Range(-9, 0).Draw(t, "exponent"))
	})
}

func drawJSON() *rapid.Generator[jsontext.Value] {
	return rapid.Custom(func(t *rapid.T) jsontext.Value {
		return jsontext.Value(rapid.SampledFrom([]string{`{}`, `{"b":[1,null],"a":"\u2028"}`, `[]`, `"text"`, `12.50`, `null`}).Draw(t, "JSON"))
	})
}

func drawHeader() *rapid.Generator[wire.Header] {
	return rapid.Custom(func(t *rapid.T) wire.Header {
		return wire.Header{
			ID: rapid.String().Draw(t, "id"), Object: rapid.String().Draw(t, "object"), Partner: rapid.Ptr(rapid.String(), true).Draw(t, "partner"),
			CreatedAt: drawTime().Draw(t, "created"), UpdatedAt: drawTime().Draw(t, "updated"), Version: rapid.Int64().Draw(t, "version"),
		}
	})
}

// records lists every struct of the package; TestEveryRecordIsTested keeps it complete.
func records() []record {
	return []record{
		recordOf[wire.Capacity](), recordOf[wire.Moratorium](), recordOf[wire.QuoteMoratorium](), recordOf[wire.MoratoriumRule](),
		recordOf[wire.OccurrenceBrief](), recordOf[wire.Determination](), recordOf[wire.Decision](), recordOf[wire.Claim](),
		recordOf[wire.MeasurementState](), recordOf[wire.SourceState](), recordOf[wire.Challenge](),
		recordOf[wire.ObservedData](), recordOf[wire.DeterminationData](), recordOf[wire.DecisionData](), recordOf[wire.IncreaseData](), recordOf[wire.PayoutData](),
		recordOf[wire.TimelineEntry](), recordOf[wire.Attachment](), recordOf[wire.Message](),
		recordOf[wire.Receipt](), recordOf[wire.ReceiptKey](), recordOf[wire.ReceiptKeySet](),
		recordOf[wire.Event](), recordOf[wire.Redaction](), recordOf[wire.Subject](),
		recordOf[wire.HistoryProof](), recordOf[wire.HistoryLost](), recordOf[wire.HistoryFault](),
		recordOf[wire.ObservationInput](), recordOf[wire.Observation](), recordOf[wire.ObservationRevision](), recordOf[wire.ObservationResult](), recordOf[wire.FieldError](),
		recordOf[wire.Occurrence](), recordOf[wire.OccurrenceProgress](), recordOf[wire.ProgressLine](), recordOf[wire.Explanation](), recordOf[wire.Exposure](), recordOf[wire.ExposureTotal](), recordOf[wire.ExposureBand](),
		recordOf[wire.Partner](), recordOf[wire.Beneficiary](), recordOf[wire.Display](), recordOf[wire.Verification](), recordOf[wire.PayoutMethod](),
		recordOf[wire.Payout](), recordOf[wire.PayoutApproval](), recordOf[wire.PayoutDestination](),
		recordOf[wire.BookLine](), recordOf[wire.PlaceCell](), recordOf[wire.StatusFigure](), recordOf[wire.Series](), recordOf[wire.SeriesPoint](), recordOf[wire.DoubtFigure](),
		recordOf[wire.Product](), recordOf[wire.Source](), recordOf[wire.Quote](), recordOf[wire.QuoteHead](), recordOf[wire.QuoteTerms](), recordOf[wire.QuotePricing](), recordOf[wire.QuoteTail](), recordOf[wire.ClaimBrief](), recordOf[wire.Policy](), recordOf[wire.StoredPolicy](), recordOf[wire.PolicyHead](), recordOf[wire.PolicyCover](), recordOf[wire.PolicyTail](),
		recordOf[wire.Header](), recordOf[wire.References](), recordOf[wire.Person](), recordOf[wire.Actor](), recordOf[wire.List[wire.Claim]](),
		recordOf[wire.WebhookEndpoint](), recordOf[wire.Delivery](), recordOf[wire.Attempt](), recordOf[wire.Retried](),
		recordOf[wire.MeasurementResult](), recordOf[wire.SourceReading](), recordOf[wire.NamedMeasure](), recordOf[wire.OccurrenceRelation](), recordOf[wire.OccurrenceWatch](),
		recordOf[wire.PartnerTerms](), recordOf[wire.PartnerContact](), recordOf[wire.CoverMap](), recordOf[wire.MapCover](), recordOf[wire.MapCell](),
		recordOf[wire.SandboxRun](), recordOf[wire.SandboxClockRun](), recordOf[wire.SandboxReplay](), recordOf[wire.SandboxReset](), recordOf[wire.SandboxClock](),
		recordOf[wire.SandboxSignature](), recordOf[wire.SandboxChecklist](), recordOf[wire.SandboxCheck](),
		recordOf[wire.PriceHistory](), recordOf[wire.PriceChange](), recordOf[wire.Station](),
	}
}

func TestEveryRecordIsTested(t *testing.T) {
	t.Parallel()
	listed := map[string]bool{"Appender": true} // no record
	for _, r := range records() {
		name, _, _ := strings.Cut(reflect.TypeOf(r.zero).Name(), "[")
		listed[name] = true
	}
	files, err := os.ReadDir(".")
	require.NoError(t, err)
	for _, file := range files {
		if !strings.HasSuffix(file.Name(), ".go") || strings.HasSuffix(file.Name(), "_test.go") {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file.Name(), nil, parser.SkipObjectResolution)
		require.NoError(t, err)
		for node := range ast.Preorder(parsed) {
			if spec, ok := node.(*ast.TypeSpec); ok && spec.Name.IsExported() && !spec.Assign.IsValid() {
				require.True(t, listed[spec.Name.Name], "add wire.%s to records", spec.Name.Name)
			}
		}
	}
}

var wordBoundary = regexp.MustCompile(`([a-z0-9])([A-Z])`)

// A member has the name of its Go field, so that a mistake in a struct tag cannot rename
// what partners read.
func TestMembersAreNamedLikeTheirFields(t *testing.T) {
	t.Parallel()
	otherwise := map[string]string{"Product.Context": "context_schema"}
	for _, r := range records() {
		kind := reflect.TypeOf(r.zero)
		for i := range kind.NumField() {
			field := kind.Field(i)
			if field.Anonymous || !field.IsExported() {
				continue
			}
			name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
			if name == "-" {
				continue // no member
			}
			want := strings.ToLower(wordBoundary.ReplaceAllString(field.Name, "${1}_$2"))
			if other := otherwise[kind.Name()+"."+field.Name]; other != "" {
				want = other
			}
			require.Equal(t, want, name, "%s.%s", kind.Name(), field.Name)
		}
	}
}

// Readers of the API rely on every member being there, null if it has no value.
func TestOnlyTheseMembersMayBeAbsent(t *testing.T) {
	t.Parallel()
	optional := map[string][]string{
		"Event": {"redaction"}, "Payout": {"approval"}, "Claim": {"measurement_state"}, "WebhookEndpoint": {"secret"}, "ReceiptKey": {"status"}, "Determination": {"measurement"},
		"PartnerTerms":     {"products", "commission_share", "maximum_limits", "requests_per_second", "request_burst", "contacts"},
		"ObservationInput": {"occurred_at", "revision", "location", "station", "measures", "aliases", "replayed_from"},
	}
	for _, r := range records() {
		kind := reflect.TypeOf(r.zero)
		var absent []string
		for i := range kind.NumField() {
			if name, option, found := strings.Cut(kind.Field(i).Tag.Get("json"), ","); found {
				require.Equal(t, "omitzero", option, "%s.%s", kind.Name(), name)
				absent = append(absent, name)
			}
		}
		require.Equal(t, optional[kind.Name()], absent, kind.Name())
	}
	for _, hidden := range []any{wire.Event{}, wire.Payout{}, wire.WebhookEndpoint{}} {
		text, err := wire.Encode(hidden)
		require.NoError(t, err)
		require.NotRegexp(t, `"(redaction|approval|secret)"`, string(text))
	}
}

func TestDecodedRecordEncodesToTheSameBytes(t *testing.T) {
	t.Parallel()
	for _, r := range records() {
		rapid.Check(t, func(t *rapid.T) {
			drawn := r.draw(t)
			text, err := wire.Encode(drawn)
			require.NoError(t, err)
			again, err := wire.Encode(drawn)
			require.NoError(t, err)
			require.Equal(t, string(text), string(again), "maps are written in order")
			read := reflect.New(reflect.TypeOf(r.zero)).Interface()
			require.NoError(t, wire.Decode(text, read))
			written, err := wire.Encode(read)
			require.NoError(t, err)
			require.Equal(t, string(text), string(written))
		})
	}
}

// Records that have an appender are written by it.
func TestAppendersWriteWhatPackageJSONWrites(t *testing.T) {
	t.Parallel()
	for _, r := range append(records(), recordOf[trigger.Cover]()) {
		rapid.Check(t, func(t *rapid.T) {
			drawn := r.draw(t)
			value := reflect.ValueOf(drawn).Elem().Interface()
			for _, record := range []any{drawn, value, r.zero, reflect.Zero(reflect.TypeOf(drawn)).Interface()} {
				expected, err := json.Marshal(record, wire.EncodingOptions)
				require.NoError(t, err)
				out := bytes.NewBufferString("before")
				require.NoError(t, wire.MarshalTo(out, record))
				require.Equal(t, "before"+string(expected), out.String())
			}
		})
	}
}
