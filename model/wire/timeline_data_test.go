package wire_test

import (
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/require"

	"parapet/model/hazard/trigger"
	"parapet/model/money"
	"parapet/model/wire"
)

// The data of a timeline entry has its members in the order of their names, also those that
// are null: a map, which has this order, has equal bytes.
func TestTimelineDataIsInOrderOfNames(t *testing.T) {
	t.Parallel()
	amount, distance := money.New(2_000_000, "USD"), 12.35
	determined := &wire.Determination{Factor: "0.5", Amount: amount, Stage: "final"}
	decided := &wire.Decision{Outcome: "approved", ReasonCodes: []string{"threshold_met"}, DecidedAt: time.Unix(1_517_935_850, 0)}
	for _, data := range []any{
		wire.ObservedData{},
		wire.ObservedData{
			DistanceKM: &distance, Index: &wire.Measure{Value: "6.5", Unit: "mw"}, Occurrence: &wire.OccurrenceBrief{ID: "occ_1"}, SourceVersion: "2", Stage: trigger.Final,
		},
		wire.DeterminationData{Determination: determined},
		wire.DecisionData{Decision: decided},
		wire.DecisionData{Amount: &amount, Decision: decided},
		wire.IncreaseData{Amount: &amount, Determination: determined},
		wire.PayoutData{Amount: amount, PayoutID: "pay_1", Status: "pending"},
	} {
		text, err := wire.Encode(data)
		require.NoError(t, err)
		members := make(map[string]jsontext.Value)
		require.NoError(t, json.Unmarshal(text, &members))
		sorted, err := json.Marshal(members, json.Deterministic(true))
		require.NoError(t, err)
		require.Equal(t, string(sorted), string(text))
	}
}
