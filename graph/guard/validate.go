package guard

import (
	"math"
	"strconv"

	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"
	"github.com/vektah/gqlparser/v2/validator"
	"github.com/vektah/gqlparser/v2/validator/core"
	"github.com/vektah/gqlparser/v2/validator/rules"

	"parapet/model/kernel/apperr"
)

// shownErrors limits the number of errors in a response.
const shownErrors = 10

// suggestedErrors is the number of errors up to which suggestions are looked up:
// comparing a name with all names of the schema is the most expensive part of rejecting
// it.
const suggestedErrors = 3

// Validate validates the document against the schema and prepares it for execution. All
// errors have the code validation_failed and their locations. With suggest they name
// fields, types and arguments that the caller may have meant, which reveals parts of the
// schema.
func (d *Document) Validate(suggest bool) gqlerror.List {
	found := validator.ValidateWithRules(d.guard.schema, d.QueryDocument, ourRules(rulesWithoutSuggestions()))
	if suggest && len(found) > 0 && len(found) <= suggestedErrors {
		found = validator.ValidateWithRules(d.guard.schema, d.QueryDocument, ourRules(rules.NewDefaultRules()))
	}
	var shown gqlerror.List
	for _, e := range found[:min(len(found), shownErrors)] {
		refused := gqlerror.Wrap(apperr.Fail(apperr.CodeValidationFailed, "%s", Sentence(e.Message)))
		refused.Locations, refused.Path = e.Locations, e.Path
		shown = append(shown, refused)
	}
	return shown
}

// ourRules adds the rules of the specification that gqlparser does not have.
func ourRules(all *rules.Rules) *rules.Rules {
	all.AddRule("IntsOf32Bits", checkIntRange)
	return all
}

// checkIntRange rejects literals of Int outside 32 bits.
func checkIntRange(observers *core.Events, addError core.AddErrFunc) {
	observers.OnValue(func(_ *core.Walker, value *ast.Value) {
		if value.Kind != ast.IntValue || value.Definition == nil || value.Definition.Name != "Int" {
			return
		}
		n, err := strconv.ParseInt(value.Raw, 10, 64) // a longer one has the wrong type
		if err == nil && (n < math.MinInt32 || n > math.MaxInt32) {
			addError(core.Message(`Expected value of type "Int" of at most 32 bits, found %d.`, n), core.At(value.Position))
		}
	})
}

// rulesWithoutSuggestions returns the specification's rules without suggestions.
func rulesWithoutSuggestions() *rules.Rules {
	all := rules.NewDefaultRules()
	all.ReplaceRule(rules.FieldsOnCorrectTypeRule.Name, rules.FieldsOnCorrectTypeRuleWithoutSuggestions.RuleFunc)
	all.ReplaceRule(rules.KnownArgumentNamesRule.Name, rules.KnownArgumentNamesRuleWithoutSuggestions.RuleFunc)
	all.ReplaceRule(rules.KnownTypeNamesRule.Name, rules.KnownTypeNamesRuleWithoutSuggestions.RuleFunc)
	all.ReplaceRule(rules.ScalarLeafsRule.Name, rules.ScalarLeafsRuleWithoutSuggestions.RuleFunc)
	all.ReplaceRule(rules.ValuesOfCorrectTypeRule.Name, rules.ValuesOfCorrectTypeRuleWithoutSuggestions.RuleFunc)
	return all
}
