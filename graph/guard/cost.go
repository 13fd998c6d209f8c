package guard

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/vektah/gqlparser/v2/ast"

	"parapet/model/kernel/apperr"
	"parapet/model/kernel/store"
)

// The costs and sizes that a document does not contain.
const (
	defaultPageSize = store.DefaultPageSize // entries of a connection without a page size
	maxPageSize     = store.MaxPageSize     // entries of a connection whose page size is too large; its resolver rejects it

	mutationCost         = 500   // own cost of a mutation: it locks, writes and emits events
	aggregationCost      = 2000  // a figure that aggregates a whole portfolio or ledger
	affectedPoliciesCost = 500   // the policies of an occurrence: all policies near it are evaluated
	progressCost         = 500   // the progress of an occurrence: all its claims and payouts are added up
	exposureCost         = 10000 // an exposure: the caller chooses a place and a size that affect many policies
	historyProofCost     = 5000  // historyProof: it reads a partner's whole event history
	totalCountCost       = 20    // totalCount of a list of one record, which has few rows
	countingAll          = 500   // totalCount of a list of Query: it counts up to 10,000 rows
	eventTypeCost        = 60    // an event type: its schema and example are 11 KB, where a record has half a KB
	maxCountedCost       = math.MaxInt32
)

// recordCosts are the costs of records that take longer to read than a simple record,
// which costs 1.
var recordCosts = map[string]int{
	"Quote":       15, // its history lists every past event that would have paid
	"Policy":      2,
	"Claim":       2,
	"Event":       5, // its data is read with it
	"Product":     10,
	"Explanation": 4, // an evaluated policy
	"Job":         2,
	"Delivery":    2,
	"Receipt":     500, // all its decisions are evaluated again
}

// fieldCosts are the costs of fields with long texts, by Type.field.
var fieldCosts = map[string]int{
	"Event.data":               15,
	"TimelineEntry.data":       2,
	"Message.body":             5, // 10,000 characters
	"Claim.description":        2,
	"Quote.metadata":           2, // 50 texts of 500 characters; the same for every record
	"Policy.metadata":          2,
	"Claim.metadata":           2,
	"WebhookEndpoint.metadata": 2,
	"Job.args":                 2,
	"Job.lastError":            2,
	"Product.contextSchema":    5,
	"DeliveryAttempt.answer":   1,
	"Quote.weighedEvents":      100,  // the historical events of the place are weighed again
	"Statement.csv":            8000, // 1 MiB from about 7,000 entries
}

// Schema names by which the guard recognises types.
const (
	connectionSuffix     = "Connection"
	edgeSuffix           = "Edge"
	nodeInterface        = "Node"
	historyProofType     = "HistoryProof"
	portfolioType        = "Portfolio"
	coverMapType         = "CoverMap"
	inboxType            = "Inbox"
	exposureType         = "Exposure"
	progressType         = "OccurrenceProgress"
	explanationsType     = "ExplanationConnection"
	ledgerBalanceType    = "LedgerBalance"
	statementType        = "Statement"
	eventDescriptionType = "EventDescription"
)

// Cost returns the number of records and list entries that an operation's resolvers can
// return. Each counts 1. A connection multiplies the cost of the selection on its nodes
// by its first (or last, or 25). Any other list has the length given in listBounds.
// Records and fields that take longer to read cost more, see the constants and tables
// above. Data that comes with its record is free: short scalars, money, a cover, edges.
// Errors: validation_failed when there is no such operation; query_too_costly above the
// limit, together with the cost.
func (d *Document) Cost(operation string, variables map[string]any) (int, error) {
	chosen := d.Operations.ForName(operation)
	if chosen == nil && operation == "" {
		return 0, newError(nil, apperr.CodeValidationFailed, "The query holds several operations; name one in operationName.")
	}
	if chosen == nil {
		return 0, newError(nil, apperr.CodeValidationFailed, "The query holds no operation of the name in operationName.")
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

// costEstimator counts a fragment at each spread; measureTree has limited the number of
// spreads.
type costEstimator struct {
	schema    *ast.Schema
	document  *Document
	operation *ast.OperationDefinition
	variables map[string]any
}

// selectionCost returns the cost of a selection on one object of type on, within the
// outer limits in.
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
		return 0 // validation rejects it later
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

// aggregateCost returns the cost of aggregating a portfolio or ledger, independent of the
// number of lines returned.
func aggregateCost(definition *ast.FieldDefinition, on *ast.Definition) int64 {
	switch name := definition.Type.Name(); {
	case name == coverMapType, name == inboxType, on.Name == portfolioType, name == statementType, name == ledgerBalanceType && on.Name != statementType:
		return aggregationCost
	case name == exposureType:
		return exposureCost
	case name == explanationsType:
		return affectedPoliciesCost
	case name == progressType:
		return progressCost
	default:
		return 0
	}
}

// ownCost returns the cost of one object without its selection.
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

// returnsObjects reports whether a field returns objects.
func (c *costEstimator) returnsObjects(definition *ast.FieldDefinition) bool {
	returned := c.schema.Types[definition.Type.Name()]
	return returned != nil && returned.IsCompositeType()
}

// readPageSize returns a page size of at most most; false means absent or null. An
// invalid number, which is rejected later, counts as most.
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

// defaultOf returns the default of a variable, nil without one. In a valid document the
// default contains no variable.
func (c *costEstimator) defaultOf(variable string) *ast.Value {
	definition := c.operation.VariableDefinitions.ForName(variable)
	if definition == nil || definition.DefaultValue == nil || definition.DefaultValue.Kind == ast.Variable {
		return nil
	}
	return definition.DefaultValue
}

// numberText returns the text of a decoded JSON number as it was written.
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

// countIDs returns the length of a list of ids, or maxPageSize when it is unknown.
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
