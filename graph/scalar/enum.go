package scalar

import (
	"strings"

	"github.com/99designs/gqlgen/graphql"

	"parapet/model/account"
	"parapet/model/audit"
	"parapet/model/claims"
	"parapet/model/hazard"
	"parapet/model/hazard/trigger"
	"parapet/model/kernel/event"
	"parapet/model/ledger"
	"parapet/model/quoting/pricing"
)

// An enum value is the same in Go, Postgres, JSON and GraphQL, except that GraphQL writes
// it in capitals and replaces an event type's dot by an underscore. The schema lists the
// values of each enum; tests compare them with the domain's lists.

// FieldName returns a member's name in the schema.
func FieldName(member string) string {
	words := strings.Split(member, "_")
	for i, word := range words[1:] {
		if word != "" {
			words[i+1] = strings.ToUpper(word[:1]) + word[1:]
		}
	}
	return strings.Join(words, "")
}

func upperEnum[W ~string](word W) graphql.Marshaler {
	return writeQuoted(string(AppendEnum(nil, string(word))))
}

// AppendEnum appends what MarshalEnum writes, without the quotes.
func AppendEnum(to []byte, word string) []byte {
	for i := range len(word) {
		letter := word[i]
		switch {
		case letter == '.':
			letter = '_'
		case 'a' <= letter && letter <= 'z':
			letter -= 'a' - 'A'
		}
		to = append(to, letter)
	}
	return to
}

// lowerEnum reads an enum value; gqlgen has checked that the enum has it. Null, which
// gqlgen passes for Go types without a pointer, gives the empty value.
func lowerEnum[W ~string](v any) (W, error) {
	word, ok := v.(string)
	if !ok && v != nil {
		return "", invalid("type", "Give a value of the enum.")
	}
	return W(strings.ToLower(word)), nil
}

// Enums whose values are plain strings in Go.

// MarshalEnum writes a value in capitals.
func MarshalEnum(w string) graphql.Marshaler { return upperEnum(w) }

// UnmarshalEnum reads a value.
func UnmarshalEnum(v any) (string, error) { return lowerEnum[string](v) }

// Enums with their own Go type: gqlgen needs a pair of functions for each.

// MarshalLineKind is MarshalEnum.
func MarshalLineKind(w pricing.LineKind) graphql.Marshaler { return upperEnum(w) }

// UnmarshalLineKind is UnmarshalEnum.
func UnmarshalLineKind(v any) (pricing.LineKind, error) { return lowerEnum[pricing.LineKind](v) }

// MarshalPlaceKind is MarshalEnum.
func MarshalPlaceKind(w trigger.PlaceKind) graphql.Marshaler { return upperEnum(w) }

// UnmarshalPlaceKind is UnmarshalEnum.
func UnmarshalPlaceKind(v any) (trigger.PlaceKind, error) { return lowerEnum[trigger.PlaceKind](v) }

// MarshalObservationKind is MarshalEnum.
func MarshalObservationKind(w hazard.Kind) graphql.Marshaler { return upperEnum(w) }

// UnmarshalObservationKind is UnmarshalEnum.
func UnmarshalObservationKind(v any) (hazard.Kind, error) { return lowerEnum[hazard.Kind](v) }

// MarshalPeril is MarshalEnum.
func MarshalPeril(w hazard.Peril) graphql.Marshaler { return upperEnum(w) }

// UnmarshalPeril is UnmarshalEnum.
func UnmarshalPeril(v any) (hazard.Peril, error) { return lowerEnum[hazard.Peril](v) }

// MarshalStage is MarshalEnum.
func MarshalStage(w trigger.Stage) graphql.Marshaler { return upperEnum(w) }

// UnmarshalStage is UnmarshalEnum.
func UnmarshalStage(v any) (trigger.Stage, error) { return lowerEnum[trigger.Stage](v) }

// MarshalDirection is MarshalEnum.
func MarshalDirection(w trigger.Direction) graphql.Marshaler { return upperEnum(w) }

// UnmarshalDirection is UnmarshalEnum.
func UnmarshalDirection(v any) (trigger.Direction, error) { return lowerEnum[trigger.Direction](v) }

// MarshalRuleKind is MarshalEnum.
func MarshalRuleKind(k trigger.MeasurementRuleKind) graphql.Marshaler { return upperEnum(k) }

// UnmarshalRuleKind is UnmarshalEnum.
func UnmarshalRuleKind(v any) (trigger.MeasurementRuleKind, error) {
	return lowerEnum[trigger.MeasurementRuleKind](v)
}

// MarshalFallback is MarshalEnum.
func MarshalFallback(f trigger.MeasurementFallback) graphql.Marshaler { return upperEnum(f) }

// UnmarshalFallback is UnmarshalEnum.
func UnmarshalFallback(v any) (trigger.MeasurementFallback, error) {
	return lowerEnum[trigger.MeasurementFallback](v)
}

// MarshalWindRule is MarshalEnum; no rule is null.
func MarshalWindRule(w trigger.WindRule) graphql.Marshaler {
	if w == "" {
		return graphql.Null
	}
	return upperEnum(w)
}

// UnmarshalWindRule is UnmarshalEnum.
func UnmarshalWindRule(v any) (trigger.WindRule, error) { return lowerEnum[trigger.WindRule](v) }

// MarshalCalendar is MarshalEnum.
func MarshalCalendar(w trigger.Calendar) graphql.Marshaler { return upperEnum(w) }

// UnmarshalCalendar is UnmarshalEnum.
func UnmarshalCalendar(v any) (trigger.Calendar, error) { return lowerEnum[trigger.Calendar](v) }

// MarshalShape is MarshalEnum.
func MarshalShape(w trigger.Shape) graphql.Marshaler { return upperEnum(w) }

// UnmarshalShape is UnmarshalEnum.
func UnmarshalShape(v any) (trigger.Shape, error) { return lowerEnum[trigger.Shape](v) }

// MarshalLedgerAccount is MarshalEnum.
func MarshalLedgerAccount(w ledger.Account) graphql.Marshaler { return upperEnum(w) }

// UnmarshalLedgerAccount is UnmarshalEnum.
func UnmarshalLedgerAccount(v any) (ledger.Account, error) {
	return lowerEnum[ledger.Account](v)
}

// MarshalOperation is MarshalEnum.
func MarshalOperation(w audit.Operation) graphql.Marshaler { return upperEnum(w) }

// UnmarshalOperation is UnmarshalEnum.
func UnmarshalOperation(v any) (audit.Operation, error) { return lowerEnum[audit.Operation](v) }

// MarshalOrigin is MarshalEnum.
func MarshalOrigin(w claims.Origin) graphql.Marshaler { return upperEnum(w) }

// UnmarshalOrigin is UnmarshalEnum.
func UnmarshalOrigin(v any) (claims.Origin, error) { return lowerEnum[claims.Origin](v) }

// MarshalAccountType is MarshalEnum.
func MarshalAccountType(w account.Type) graphql.Marshaler { return upperEnum(w) }

// UnmarshalAccountType is UnmarshalEnum.
func UnmarshalAccountType(v any) (account.Type, error) { return lowerEnum[account.Type](v) }

// MarshalUSAccountType is MarshalEnum.
func MarshalUSAccountType(w account.AccountType) graphql.Marshaler { return upperEnum(w) }

// UnmarshalUSAccountType is UnmarshalEnum.
func UnmarshalUSAccountType(v any) (account.AccountType, error) {
	return lowerEnum[account.AccountType](v)
}

// MarshalTimelineKind writes an event type's dot as an underscore too.
func MarshalTimelineKind(w string) graphql.Marshaler { return upperEnum(w) }

// UnmarshalTimelineKind reads a value of the catalogue: an underscore may have been a
// dot.
func UnmarshalTimelineKind(v any) (string, error) {
	word, _ := v.(string)
	for _, kind := range event.Types() {
		if strings.EqualFold(strings.ReplaceAll(string(kind), ".", "_"), word) {
			return string(kind), nil
		}
	}
	return "", invalid("type", "Give a value of the enum.")
}
