package guard

import (
	"strings"
	"time"

	"github.com/vektah/gqlparser/v2/ast"

	"parapet/model/hazard/occurrence"
	"parapet/model/insight/portfolio"
	"parapet/model/kernel/event"
	"parapet/model/kernel/store"
	"parapet/model/ledger"
	"parapet/model/operations"
	"parapet/model/quoting/catalog"
)

// A list without a limiting argument counts with its length in a large portfolio.
const (
	assumedCurrencies = 8  // of a portfolio
	assumedPartners   = 25 // compared by an operator side by side
)

// listBound is the maximum length of a list.
type listBound struct {
	entries       int
	perCurrency   bool // per currency, unless one is named
	perPartner    bool // per partner, if they are shown separately
	fromArguments bool // the number requested by the field above
}

// listBounds gives the length of each list of objects that is not a connection. A test
// fails for a list without an entry.
var listBounds = map[string]listBound{
	"Query.nodes":                         {fromArguments: true},
	"Query.eventTypes":                    {entries: len(event.Types())},
	"Query.invariants":                    {entries: 50},
	"Query.railIdentities":                {entries: 20}, // a bank's address and account, which change once in years
	"Query.releaseStops":                  {entries: store.MaxPageSize},
	"Query.releaseResumptions":            {entries: store.MaxPageSize},
	"Leaving.orders":                      {entries: 100},
	"Query.priceHistories":                {entries: catalog.MaxPriceHistories},
	"LoadPriceHistoryPayload.prices":      {entries: 50},
	"Query.search":                        {entries: operations.MaxSearchResults},
	"Inbox.unsettled":                     {entries: 8, perCurrency: true},
	"Query.jobQueues":                     {entries: 20},
	"Query.jobCounts":                     {entries: 100}, // queues, kinds and states that have jobs
	"Query.failingJobs":                   {entries: 50},  // failing kinds
	"Query.ledger":                        {entries: len(ledger.Accounts()), perCurrency: true, perPartner: true},
	"Query.moratoriumRules":               {entries: 3}, // one per kind of observation
	"Query.reconciliationExceptions":      {entries: store.MaxPageSize},
	"Invariant.violations":                {entries: store.MaxPageSize},
	"HistoryProof.faults":                 {entries: 100},
	"HistoryProof.lost":                   {entries: 20}, // one per restore from a backup
	"Statement.opening":                   {entries: len(ledger.Accounts()), perCurrency: true},
	"Statement.closing":                   {entries: len(ledger.Accounts()), perCurrency: true},
	"Portfolio.claimsByStatus":            {entries: 6, perCurrency: true},
	"Portfolio.payoutsByStatus":           {entries: 8, perCurrency: true},
	"Portfolio.doubt":                     {entries: 2 * 5, perCurrency: true}, // two states, five ages
	"Portfolio.series":                    {entries: 1, perCurrency: true},
	"CoverMap.covers":                     {entries: portfolio.MaxMapCovers},
	"CoverMap.cells":                      {entries: portfolio.MaxMapCells},
	"MapCell.limits":                      {entries: 1, perCurrency: true},
	"OccurrenceProgress.lines":            {entries: assumedPartners * assumedCurrencies},
	"Occurrence.owedByProduct":            {entries: assumedPartners * assumedCurrencies},
	"SandboxReplay.lines":                 {entries: assumedCurrencies},
	"SandboxChecklist.items":              {entries: 5},
	"Series.points":                       {fromArguments: true},
	"Book.lines":                          {fromArguments: true},
	"Exposure.totals":                     {entries: 1, perCurrency: true},
	"Exposure.bands":                      {entries: 4, perCurrency: true},
	"Claim.payouts":                       {entries: 20}, // the newest
	"Claim.operatorActions":               {entries: 10}, // one per operator decision
	"Quote.history":                       {entries: 100},
	"Price.lines":                         {entries: 8},
	"Cover.payoutCurves":                  {entries: 10}, // one per ring
	"Measurement.sources":                 {entries: 5},
	"PayoutShape.rings":                   {entries: 10},
	"PayoutShape.steps":                   {entries: 50},
	"Ring.steps":                          {entries: 50},
	"PayoutCurve.points":                  {entries: 20}, // one curve without rings has fifty, fewer than ten with twenty
	"Product.payoutCurves":                {entries: 10},
	"Product.currencies":                  {entries: assumedCurrencies},
	"Product.examples":                    {entries: 20},
	"PartnerTerms.maximumLimits":          {entries: assumedCurrencies},
	"PartnerTerms.contacts":               {entries: 20},
	"WorkedExample.storm":                 {entries: 20},
	"MeasurementState.sources":            {entries: 10}, // of the terms, then others that reported
	"MeasurementResult.sources":           {entries: 10},
	"Observation.measures":                {entries: 7},
	"ObservationRevision.measures":        {entries: 7},
	"ObservationResult.errors":            {entries: 10},
	"PayoutApproval.approvals":            {entries: 2},
	"Delivery.attempts":                   {entries: 20},
	"ReconcilePayload.results":            {entries: 8},
	"RecordObservationsPayload.results":   {entries: occurrence.MaxObservations},
	"RehearseObservationsPayload.results": {entries: occurrence.MaxObservations},
}

// outerLimits are the arguments above a selection that limit the lists below it.
type outerLimits struct {
	entries    int           // of the connection, the portfolio, the series or the ids
	period     time.Duration // covered by a portfolio
	currencies int           // all of them, or the named one
	partners   int
	counting   int // cost of totalCount
}

// limitsBelow returns the limits of the lists below a field, and of the field itself when
// it is a list.
func (c *costEstimator) limitsBelow(f *ast.Field, definition *ast.FieldDefinition, in outerLimits) outerLimits {
	takes := func(name string) bool { return definition.Arguments.ForName(name) != nil }
	if takes("currency") {
		in.currencies = assumedCurrencies
		if c.argumentText(f, definition, "currency") != "" {
			in.currencies = 1
		}
	}
	if in.partners = 1; takes("byPartner") && c.argumentText(f, definition, "byPartner") != "false" {
		in.partners = assumedPartners
	}
	switch name := definition.Type.Name(); {
	case takes("ids"):
		in.entries = c.countIDs(argumentValue(f, "ids"))
	case name == portfolioType:
		in.period = c.requestedPeriod(f, definition)
	case name == "Book":
		in.entries = c.requestedEntries(f, definition, portfolio.DefaultBookLines, portfolio.MaxBookLines)
	case name == "Series":
		in.entries = maxPoints(in.period, c.argumentText(f, definition, "interval"))
	case strings.HasSuffix(name, connectionSuffix):
		in.entries = c.requestedEntries(f, definition, defaultPageSize, maxPageSize)
	}
	return in
}

// maxListLength returns the maximum length of a list.
func (c *costEstimator) maxListLength(f *ast.Field, on *ast.Definition, in outerLimits) int {
	list, known := listBounds[on.Name+"."+f.Name]
	switch {
	case strings.HasSuffix(on.Name, connectionSuffix), list.fromArguments:
		return in.entries
	case !known:
		return maxPageSize
	}
	length := list.entries
	if list.perCurrency {
		length *= max(in.currencies, 1)
	}
	if list.perPartner {
		length *= in.partners
	}
	return length
}

// requestedEntries returns the number requested by first or last, or unsaid without
// either.
func (c *costEstimator) requestedEntries(f *ast.Field, definition *ast.FieldDefinition, unsaid, most int) int {
	for _, name := range []string{"first", "last"} {
		argument := definition.Arguments.ForName(name)
		if argument == nil {
			continue
		}
		if number, known := c.readPageSize(argumentValue(f, name), most); known {
			return number
		}
		if number, known := c.readPageSize(argument.DefaultValue, most); known {
			return number
		}
	}
	return unsaid
}

// argumentValue returns the value of an argument; nil when it is left out.
func argumentValue(f *ast.Field, name string) *ast.Value {
	if argument := f.Arguments.ForName(name); argument != nil {
		return argument.Value
	}
	return nil
}

// argumentText returns the resolved text of an argument, empty for none and null.
func (c *costEstimator) argumentText(f *ast.Field, definition *ast.FieldDefinition, name string) string {
	for _, value := range []*ast.Value{argumentValue(f, name), definition.Arguments.ForName(name).DefaultValue} {
		if value != nil && value.Kind == ast.Variable {
			if said, present := c.variables[value.Raw]; present {
				return valueText(said)
			}
			value = c.defaultOf(value.Raw)
		}
		if value != nil && value.Kind != ast.NullValue {
			return value.Raw
		}
	}
	return ""
}

// valueText returns a decoded JSON value other than a number as it is written in a
// document.
func valueText(value any) string {
	switch v := value.(type) {
	case string:
		return v
	case bool:
		return map[bool]string{true: "true", false: "false"}[v]
	default:
		return ""
	}
}

// requestedPeriod returns the period of a portfolio, a year by default.
func (c *costEstimator) requestedPeriod(f *ast.Field, definition *ast.FieldDefinition) time.Duration {
	from, to := c.argumentText(f, definition, "from"), c.argumentText(f, definition, "to")
	if from == "" {
		return 366 * day
	}
	begin, wrong := time.Parse(time.RFC3339, from)
	end, unknown := time.Parse(time.RFC3339, to)
	if wrong != nil || unknown != nil { // an open end means now, which is unknown here
		return portfolio.MaxPortfolioSpan
	}
	return min(end.Sub(begin), portfolio.MaxPortfolioSpan)
}

const day = 24 * time.Hour

// maxPoints returns the number of points of a series over a period.
func maxPoints(of time.Duration, interval string) int {
	each := map[string]time.Duration{"WEEK": 7 * day, "MONTH": 28 * day}[interval]
	return min(max(int(of/max(each, day)), 0)+2, portfolio.MaxBuckets)
}
