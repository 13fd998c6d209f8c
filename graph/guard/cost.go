package guard

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/vektah/gqlparser/v2/ast"

	"parapet/model"
)

// What is not told by the document.
const (
	defaultPageSize = model.DefaultPageSize // entries of a connection that names no number
	maxPageSize     = model.MaxPageSize     // entries of a connection that names too many; its resolver refuses

	mutationCost         = 500   // a mutation's own price: it locks, writes and tells others
	aggregationCost      = 2000  // a figure's: it goes through a whole book or a whole ledger
	affectedPoliciesCost = 500   // the policies of an occurrence: all that lie near it are judged
	exposureCost         = 10000 // an exposure: the caller chooses a place and a size that touch many policies
	historyProofCost     = 5000  // historyProof: it reads a partner's whole history
	totalCountCost       = 20    // totalCount of a list of one record: it has few rows
	countingAll          = 500   // totalCount of a list of Query: it counts up to 10,000 rows
	eventTypeCost        = 60    // a type of event: its schema and example are 11 KB, where a record has half of one
	maxCountedCost       = math.MaxInt32
)

// recordCosts are the costs of records that take longer to read than the simplest, which
// costs 1.
var recordCosts = map[string]int{
	"Quote":       15, // its history is every past event that would have paid
	"Policy":      2,
	"Claim":       2,
	"Event":       5, // its data is read with it
	"Product":     10,
	"Explanation": 4, // a policy, judged
	"Job":         2,
	"Delivery":    2,
}

// fieldCosts are the costs of fields that hold long texts, by Type.field.
var fieldCosts = map[string]int{
	"Event.data":               15,
	"TimelineEntry.data":       2,
	"Message.body":             5, // 10,000 characters
	"Claim.description":        2,
	"Quote.metadata":           2, // 50 texts of 500 characters; so in every record
	"Policy.metadata":          2,
	"Claim.metadata":           2,
	"WebhookEndpoint.metadata": 2,
	"Job.args":                 2,
	"Job.lastError":            2,
	"Product.contextSchema":    5,
	"DeliveryAttempt.answer":   1,
	"Quote.weighedEvents":      100,  // the history of the place is weighed again
	"Statement.csv":            8000, // 1 MiB, made of some 7,000 entries
}

// Names of the schema by which the guard knows what a type is.
const (
	connectionSuffix     = "Connection"
	edgeSuffix           = "Edge"
	nodeInterface        = "Node"
	historyProofType     = "HistoryProof"
	portfolioType        = "Portfolio"
	exposureType         = "Exposure"
	explanationsType     = "ExplanationConnection"
	ledgerBalanceType    = "LedgerBalance"
	statementType        = "Statement"
	eventDescriptionType = "EventDescription"
)

// Cost is how many records and list entries an operation's resolvers can return:
// 1 for each, and for each connection, whose first (or last, or 25) multiplies
// what is selected on its nodes, and for each other list, which has as many entries
// as lists tells. What takes longer to read costs more, as the constants and tables above
// say. What comes with its record is free: short scalars, money, a cover, edges.
// Errors: validation_failed when there is no such operation, and query_too_costly above
// the limit, with the cost all the same.
func (d *Document) Cost(operation string, variables map[string]any) (int, error) {
	chosen := d.Operations.ForName(operation)
	if chosen == nil && operation == "" {
		return 0, newError(nil, model.CodeValidationFailed, "The query holds several operations; name one in operationName.")
	}
	if chosen == nil {
		return 0, newError(nil, model.CodeValidationFailed, "The query holds no operation of the name in operationName.")
	}
	c := costEstimator{schema: d.guard.schema, document: d, operation: chosen, variables: variables}
	var root *ast.Definition
	switch chosen.Operation {
	case ast.Mutation:
		root = c.schema.Mutation
	case ast.Subscription:
		root = c.schema.Subscription
	case ast.Query:
		root = c.schema.Query
	}
	cost := c.selectionCost(chosen.SelectionSet, root, outerLimits{})
	if limit := d.guard.limits.Cost; cost > limit {
		return cost, newCostError(chosen.Position, "The query costs %d, more than %d: it can return that many objects. Ask for fewer with first, or in several queries.", cost, limit)
	}
	return cost, nil
}

// costEstimator counts a fragment at each spread; measureTree has bounded the number of
// spreads.
type costEstimator struct {
	schema    *ast.Schema
	document  *Document
	operation *ast.OperationDefinition
	variables map[string]any
}

// selectionCost is the cost of a selection on one object of type on, within what was asked
// for above.
func (c *costEstimator) selectionCost(set ast.SelectionSet, on *ast.Definition, in outerLimits) int {
	sum := 0
	for _, selection := range set {
		switch s := selection.(type) {
		case *ast.Field:
			sum += c.fieldCost(s, on, in)
		case *ast.InlineFragment:
			narrowed := on
			if s.TypeCondition != "" {
				narrowed = c.schema.Types[s.TypeCondition]
			}
			sum += c.selectionCost(s.SelectionSet, narrowed, in)
		case *ast.FragmentSpread:
			if fragment := c.document.Fragments.ForName(s.Name); fragment != nil {
				sum += c.selectionCost(fragment.SelectionSet, c.schema.Types[fragment.TypeCondition], in)
			}
		}
		sum = min(sum, maxCountedCost)
	}
	return sum
}

func (c *costEstimator) fieldCost(f *ast.Field, on *ast.Definition, in outerLimits) int {
	if on == nil {
		return 0 // validation will refuse it
	}
	if on == c.schema.Query && (f.Name == "__schema" || f.Name == "__type") {
		return c.introspectionCost(f)
	}
	definition := on.Fields.ForName(f.Name)
	if definition == nil {
		return 0
	}
	if !c.returnsObjects(definition) {
		if f.Name == "totalCount" || f.Name == "totalCountExceeded" {
			return in.counting
		}
		return fieldCosts[on.Name+"."+f.Name]
	}
	below := c.limitsBelow(f, definition, in)
	below.counting = totalCountCost
	if on == c.schema.Query {
		below.counting = countingAll
	}
	times := 1
	if definition.Type.Elem != nil {
		times = c.maxListLength(f, on, below)
	}
	each := int64(c.ownCost(definition, on) + c.selectionCost(f.SelectionSet, c.schema.Types[definition.Type.Name()], below))
	return int(min(int64(times)*each+aggregateCost(definition, on), maxCountedCost))
}

// aggregateCost is the price of going through a book, however few lines come of it.
func aggregateCost(definition *ast.FieldDefinition, on *ast.Definition) int64 {
	switch name := definition.Type.Name(); {
	case on.Name == portfolioType, name == statementType, name == ledgerBalanceType && on.Name != statementType:
		return aggregationCost
	case name == exposureType:
		return exposureCost
	case name == explanationsType:
		return affectedPoliciesCost
	default:
		return 0
	}
}

// ownCost is what one object costs without what is below it.
func (c *costEstimator) ownCost(definition *ast.FieldDefinition, on *ast.Definition) int {
	name := definition.Type.Name()
	returned := c.schema.Types[name]
	switch {
	case on == c.schema.Mutation:
		return mutationCost
	case name == historyProofType:
		return historyProofCost
	case name == eventDescriptionType:
		return eventTypeCost
	case strings.HasSuffix(name, edgeSuffix):
		return 0 // its node counts
	case definition.Type.Elem != nil, strings.HasSuffix(name, connectionSuffix), on == c.schema.Query,
		returned.IsAbstractType(), slices.Contains(returned.Interfaces, nodeInterface):
		return max(1, recordCosts[name])
	default:
		return 0
	}
}

// returnsObjects tells whether a field returns objects.
func (c *costEstimator) returnsObjects(definition *ast.FieldDefinition) bool {
	returned := c.schema.Types[definition.Type.Name()]
	return returned != nil && returned.IsCompositeType()
}

// readPageSize is the value of a page size of at most so many; absent and null are
// unknown. What is no number at all will be refused: it costs the most.
func (c *costEstimator) readPageSize(value *ast.Value, most int) (int, bool) {
	var text string
	switch {
	case value == nil || value.Kind == ast.NullValue:
		return 0, false
	case value.Kind == ast.Variable:
		given, present := c.variables[value.Raw]
		if !present {
			return c.readPageSize(c.defaultOf(value.Raw), most)
		}
		if given == nil {
			return 0, false
		}
		text = numberText(given)
	default:
		text = value.Raw
	}
	number, err := strconv.Atoi(text)
	if err != nil || number < 0 || number > most {
		return most, true
	}
	return number, true
}

// defaultOf is the default of a variable, nil without one. In a valid document it holds
// no variable in its turn.
func (c *costEstimator) defaultOf(variable string) *ast.Value {
	definition := c.operation.VariableDefinitions.ForName(variable)
	if definition == nil || definition.DefaultValue == nil || definition.DefaultValue.Kind == ast.Variable {
		return nil
	}
	return definition.DefaultValue
}

// numberText is a decoded JSON number as it was written.
func numberText(value any) string {
	switch v := value.(type) {
	case interface{ String() string }: // json.Number
		return v.String()
	case int64:
		return strconv.FormatInt(v, 10)
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	default:
		return ""
	}
}

// countIDs is the length of a list of ids; of one that is nowhere told, the most.
func (c *costEstimator) countIDs(value *ast.Value) int {
	switch {
	case value == nil:
		return maxPageSize
	case value.Kind == ast.ListValue:
		return min(len(value.Children), maxPageSize)
	case value.Kind != ast.Variable:
		return 1
	}
	given, present := c.variables[value.Raw]
	if list, listed := given.([]any); listed {
		return min(len(list), maxPageSize)
	}
	if present {
		return 1
	}
	return c.countIDs(c.defaultOf(value.Raw))
}
