package scalar

import (
	"strings"

	"github.com/99designs/gqlgen/graphql"

	"parapet/model"
	"parapet/model/account"
	"parapet/model/hazard"
	"parapet/model/pricing"
	"parapet/model/trigger"
)

// A word is the same in Go, Postgres, JSON and GraphQL; GraphQL writes it in
// capitals, and an event type's dot as an underscore. Which words an enum has is
// told by the schema, and tested against the domain's lists.

// Name writes a member's name as the schema does.
func Name(member string) string {
	words := strings.Split(member, "_")
	for i, word := range words[1:] {
		if word != "" {
			words[i+1] = strings.ToUpper(word[:1]) + word[1:]
		}
	}
	return strings.Join(words, "")
}

func capitals[W ~string](word W) graphql.Marshaler {
	return text(string(AppendWord(nil, string(word))))
}

// AppendWord is what MarshalWord writes, without its quotes, behind what is there.
func AppendWord(to []byte, word string) []byte {
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

// small reads a word back; the library has checked that the enum has it. Null,
// which the library hands over wherever Go has no pointer, is no word.
func small[W ~string](v any) (W, error) {
	word, ok := v.(string)
	if !ok && v != nil {
		return "", unfit("type", "Give a value of the enum.")
	}
	return W(strings.ToLower(word)), nil
}

// Every enum whose words Go keeps as plain strings.

// MarshalWord writes a word in capitals.
func MarshalWord(w string) graphql.Marshaler { return capitals(w) }

// UnmarshalWord reads a word.
func UnmarshalWord(v any) (string, error) { return small[string](v) }

// The enums whose words have a Go type of their own: the library asks for a pair
// of functions for each.

// MarshalLineKind is MarshalWord.
func MarshalLineKind(w pricing.LineKind) graphql.Marshaler { return capitals(w) }

// UnmarshalLineKind is UnmarshalWord.
func UnmarshalLineKind(v any) (pricing.LineKind, error) { return small[pricing.LineKind](v) }

// MarshalPlaceKind is MarshalWord.
func MarshalPlaceKind(w trigger.PlaceKind) graphql.Marshaler { return capitals(w) }

// UnmarshalPlaceKind is UnmarshalWord.
func UnmarshalPlaceKind(v any) (trigger.PlaceKind, error) { return small[trigger.PlaceKind](v) }

// MarshalObservationKind is MarshalWord.
func MarshalObservationKind(w hazard.Kind) graphql.Marshaler { return capitals(w) }

// UnmarshalObservationKind is UnmarshalWord.
func UnmarshalObservationKind(v any) (hazard.Kind, error) { return small[hazard.Kind](v) }

// MarshalStage is MarshalWord.
func MarshalStage(w trigger.Stage) graphql.Marshaler { return capitals(w) }

// UnmarshalStage is UnmarshalWord.
func UnmarshalStage(v any) (trigger.Stage, error) { return small[trigger.Stage](v) }

// MarshalDirection is MarshalWord.
func MarshalDirection(w trigger.Direction) graphql.Marshaler { return capitals(w) }

// UnmarshalDirection is UnmarshalWord.
func UnmarshalDirection(v any) (trigger.Direction, error) { return small[trigger.Direction](v) }

// MarshalWindRule is MarshalWord; no rule is null.
func MarshalWindRule(w trigger.WindRule) graphql.Marshaler {
	if w == "" {
		return graphql.Null
	}
	return capitals(w)
}

// UnmarshalWindRule is UnmarshalWord.
func UnmarshalWindRule(v any) (trigger.WindRule, error) { return small[trigger.WindRule](v) }

// MarshalCalendar is MarshalWord.
func MarshalCalendar(w trigger.Calendar) graphql.Marshaler { return capitals(w) }

// UnmarshalCalendar is UnmarshalWord.
func UnmarshalCalendar(v any) (trigger.Calendar, error) { return small[trigger.Calendar](v) }

// MarshalShape is MarshalWord.
func MarshalShape(w trigger.Shape) graphql.Marshaler { return capitals(w) }

// UnmarshalShape is UnmarshalWord.
func UnmarshalShape(v any) (trigger.Shape, error) { return small[trigger.Shape](v) }

// MarshalLedgerAccount is MarshalWord.
func MarshalLedgerAccount(w model.LedgerAccount) graphql.Marshaler { return capitals(w) }

// UnmarshalLedgerAccount is UnmarshalWord.
func UnmarshalLedgerAccount(v any) (model.LedgerAccount, error) { return small[model.LedgerAccount](v) }

// MarshalOperation is MarshalWord.
func MarshalOperation(w model.Operation) graphql.Marshaler { return capitals(w) }

// UnmarshalOperation is UnmarshalWord.
func UnmarshalOperation(v any) (model.Operation, error) { return small[model.Operation](v) }

// MarshalOrigin is MarshalWord.
func MarshalOrigin(w model.Origin) graphql.Marshaler { return capitals(w) }

// UnmarshalOrigin is UnmarshalWord.
func UnmarshalOrigin(v any) (model.Origin, error) { return small[model.Origin](v) }

// MarshalAccountType is MarshalWord.
func MarshalAccountType(w account.Type) graphql.Marshaler { return capitals(w) }

// UnmarshalAccountType is UnmarshalWord.
func UnmarshalAccountType(v any) (account.Type, error) { return small[account.Type](v) }

// MarshalUSAccountType is MarshalWord.
func MarshalUSAccountType(w account.AccountType) graphql.Marshaler { return capitals(w) }

// UnmarshalUSAccountType is UnmarshalWord.
func UnmarshalUSAccountType(v any) (account.AccountType, error) { return small[account.AccountType](v) }

// MarshalTimelineKind writes an event type's dot as an underscore too.
func MarshalTimelineKind(w string) graphql.Marshaler { return capitals(w) }

// UnmarshalTimelineKind reads what the catalogue has: an underscore may have been
// a dot.
func UnmarshalTimelineKind(v any) (string, error) {
	word, _ := v.(string)
	for _, kind := range model.EventTypes() {
		if strings.EqualFold(strings.ReplaceAll(string(kind), ".", "_"), word) {
			return string(kind), nil
		}
	}
	return "", unfit("type", "Give a value of the enum.")
}
