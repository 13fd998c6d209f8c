package guard

import (
	"strings"
	"time"

	"github.com/vektah/gqlparser/v2/ast"

	"parapet/model"
)

// A list that no argument bounds is counted as long as it is in a large book.
const (
	currencies = 8  // in which a book is kept
	partners   = 25 // whose figures an operator has side by side
)

// bound is how many entries a list has at most.
type bound struct {
	entries     int
	ofCurrency  bool // so many of each currency, unless one is named
	ofPartner   bool // so many of each partner, when they are told apart
	byArguments bool // as many as around tells, of a field above
}

// lists are the bounds of the lists of objects that are no connections. A schema
// with a list that has none does not pass the tests.
var lists = map[string]bound{
	"Query.nodes":                         {byArguments: true},
	"Query.eventTypes":                    {entries: len(model.EventTypes())},
	"Query.invariants":                    {entries: 50},
	"Query.railIdentities":                {entries: 20}, // a bank's address and account, which change once in years
	"Query.releaseStops":                  {entries: model.MaxPageSize},
	"Query.releaseResumptions":            {entries: model.MaxPageSize},
	"Leaving.orders":                      {entries: 100},
	"Query.jobCounts":                     {entries: 100}, // a queue, kind and state that has jobs
	"Query.failingJobs":                   {entries: 50},  // a kind that fails
	"Query.ledger":                        {entries: len(model.LedgerAccounts()), ofCurrency: true, ofPartner: true},
	"Query.moratoriumRules":               {entries: 3}, // one a kind of observation
	"Query.findings":                      {entries: model.MaxPageSize},
	"Invariant.violations":                {entries: model.MaxPageSize},
	"HistoryProof.faults":                 {entries: 100},
	"HistoryProof.lost":                   {entries: 20}, // one for each restore from a backup
	"Statement.opening":                   {entries: len(model.LedgerAccounts()), ofCurrency: true},
	"Statement.closing":                   {entries: len(model.LedgerAccounts()), ofCurrency: true},
	"Portfolio.claimsByStatus":            {entries: 6, ofCurrency: true},
	"Portfolio.payoutsByStatus":           {entries: 8, ofCurrency: true},
	"Portfolio.doubt":                     {entries: 2 * 5, ofCurrency: true}, // two states, five ages
	"Portfolio.series":                    {entries: 1, ofCurrency: true},
	"Series.points":                       {byArguments: true},
	"Book.lines":                          {byArguments: true},
	"Exposure.totals":                     {entries: 1, ofCurrency: true},
	"Exposure.bands":                      {entries: 4, ofCurrency: true},
	"Claim.payouts":                       {entries: 20}, // the newest
	"Claim.adjudications":                 {entries: 10}, // one each time an operator decides
	"Quote.history":                       {entries: 100},
	"Price.lines":                         {entries: 8},
	"Cover.payoutCurves":                  {entries: 10}, // one a ring
	"PayoutShape.rings":                   {entries: 10},
	"PayoutShape.steps":                   {entries: 50},
	"Ring.steps":                          {entries: 50},
	"PayoutCurve.points":                  {entries: 20}, // one curve without rings has fifty, fewer than ten with twenty
	"Product.payoutCurves":                {entries: 10},
	"Product.currencies":                  {entries: currencies},
	"Product.examples":                    {entries: 20},
	"WorkedExample.storm":                 {entries: 20},
	"Observation.measures":                {entries: 7},
	"ObservationResult.errors":            {entries: 10},
	"PayoutApproval.given":                {entries: 2},
	"Delivery.attempts":                   {entries: 20},
	"ReconcilePayload.results":            {entries: 8},
	"RecordObservationsPayload.results":   {entries: model.MaxObservations},
	"RehearseObservationsPayload.results": {entries: model.MaxObservations},
}

// around is what was asked for above a selection, as far as it bounds the lists
// below.
type around struct {
	entries    int           // of the connection, the book, the series or the ids
	time       time.Duration // that a portfolio counts
	currencies int           // all of them, or the one that is named
	partners   int
	counting   int // what totalCount costs
}

// below is what bounds the lists below a field, and the field itself when it is a
// list.
func (c *costing) below(f *ast.Field, definition *ast.FieldDefinition, in around) around {
	takes := func(name string) bool { return definition.Arguments.ForName(name) != nil }
	if takes("currency") {
		in.currencies = currencies
		if c.text(f, definition, "currency") != "" {
			in.currencies = 1
		}
	}
	if in.partners = 1; takes("byPartner") && c.text(f, definition, "byPartner") != "false" {
		in.partners = partners
	}
	switch name := definition.Type.Name(); {
	case takes("ids"):
		in.entries = c.count(given(f, "ids"))
	case name == portfolio:
		in.time = c.between(f, definition)
	case name == "Book":
		in.entries = c.asked(f, definition, model.DefaultBookLines, model.MaxBookLines)
	case name == "Series":
		in.entries = points(in.time, c.text(f, definition, "interval"))
	case strings.HasSuffix(name, connectionEnd):
		in.entries = c.asked(f, definition, page, mostPage)
	}
	return in
}

// length is how many entries a list can have.
func (c *costing) length(f *ast.Field, on *ast.Definition, in around) int {
	list, known := lists[on.Name+"."+f.Name]
	switch {
	case strings.HasSuffix(on.Name, connectionEnd), list.byArguments:
		return in.entries
	case !known:
		return mostPage
	}
	length := list.entries
	if list.ofCurrency {
		length *= max(in.currencies, 1)
	}
	if list.ofPartner {
		length *= in.partners
	}
	return length
}

// asked is how many entries are asked for by first or last, or how many there are
// when nothing is said.
func (c *costing) asked(f *ast.Field, definition *ast.FieldDefinition, unsaid, most int) int {
	for _, name := range []string{"first", "last"} {
		argument := definition.Arguments.ForName(name)
		if argument == nil {
			continue
		}
		if number, known := c.number(given(f, name), most); known {
			return number
		}
		if number, known := c.number(argument.DefaultValue, most); known {
			return number
		}
	}
	return unsaid
}

// given is what a field is given for an argument; nil when it is left out.
func given(f *ast.Field, name string) *ast.Value {
	if argument := f.Arguments.ForName(name); argument != nil {
		return argument.Value
	}
	return nil
}

// text is what an argument comes to, empty for none and null.
func (c *costing) text(f *ast.Field, definition *ast.FieldDefinition, name string) string {
	for _, value := range []*ast.Value{given(f, name), definition.Arguments.ForName(name).DefaultValue} {
		if value != nil && value.Kind == ast.Variable {
			if said, present := c.variables[value.Raw]; present {
				return word(said)
			}
			value = c.standing(value.Raw)
		}
		if value != nil && value.Kind != ast.NullValue {
			return value.Raw
		}
	}
	return ""
}

// word is a decoded JSON value that is no number, as it is written in a document.
func word(value any) string {
	switch v := value.(type) {
	case string:
		return v
	case bool:
		return map[bool]string{true: "true", false: "false"}[v]
	default:
		return ""
	}
}

// between is the time that a portfolio is asked about: a year unless it is told
// otherwise.
func (c *costing) between(f *ast.Field, definition *ast.FieldDefinition) time.Duration {
	from, to := c.text(f, definition, "from"), c.text(f, definition, "to")
	if from == "" {
		return 366 * day
	}
	begin, wrong := time.Parse(time.RFC3339, from)
	end, unknown := time.Parse(time.RFC3339, to)
	if wrong != nil || unknown != nil { // until now, which is not told here
		return model.MaxPortfolioTime
	}
	return min(end.Sub(begin), model.MaxPortfolioTime)
}

const day = 24 * time.Hour

// points is how many points a series of a time has.
func points(of time.Duration, interval string) int {
	each := map[string]time.Duration{"WEEK": 7 * day, "MONTH": 28 * day}[interval]
	return min(max(int(of/max(each, day)), 0)+2, model.MaxBuckets)
}
