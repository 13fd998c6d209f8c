package wire

import (
	"flag"
	"reflect"
	"testing"

	"parapet/internal/recordgen"
	"parapet/model/hazard/trigger"
)

var update = flag.Bool("update", false, "write appender_records.go")

// appendedRecords are the types that have a function of appender_records.go.
var appendedRecords = []reflect.Type{
	reflect.TypeFor[Claim](), reflect.TypeFor[Determination](), reflect.TypeFor[Payout](), reflect.TypeFor[Policy](), reflect.TypeFor[StoredPolicy](), reflect.TypeFor[TimelineEntry](),
	reflect.TypeFor[Quote](), reflect.TypeFor[QuoteHead](), reflect.TypeFor[QuotePricing](), reflect.TypeFor[QuoteTail](), reflect.TypeFor[trigger.Cover](),
	reflect.TypeFor[ObservedData](), reflect.TypeFor[DeterminationData](), reflect.TypeFor[DecisionData](), reflect.TypeFor[IncreaseData](), reflect.TypeFor[PayoutData](), reflect.TypeFor[Event](),
}

func TestAppendersAreGeneratedFromTheTypes(t *testing.T) {
	t.Parallel()
	recordgen.Check(t, recordgen.File{Name: "appender_records.go", Package: reflect.TypeFor[Claim]().PkgPath(), Records: appendedRecords}, *update)
}
