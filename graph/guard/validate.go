package guard

import (
	"github.com/vektah/gqlparser/v2/gqlerror"
	"github.com/vektah/gqlparser/v2/validator"
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
	found := validator.ValidateWithRules(d.guard.schema, d.QueryDocument, rulesWithoutSuggestions())
	if suggest && len(found) > 0 && len(found) <= suggestedErrors {
		found = validator.ValidateWithRules(d.guard.schema, d.QueryDocument, rules.NewDefaultRules())
	}
	var shown gqlerror.List
	for _, e := range found[:min(len(found), shownErrors)] {
		refused := gqlerror.Wrap(apperr.Fail(apperr.CodeValidationFailed, "%s", Sentence(e.Message)))
		refused.Locations, refused.Path = e.Locations, e.Path
		shown = append(shown, refused)
	}
	return shown
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
