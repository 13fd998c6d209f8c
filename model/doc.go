// Package model is the domain layer that all APIs share: the records of parametric
// insurance, their rules, the operations on them and the transactions of these
// operations. Service has one field for each subdomain. Each package documents its states
// and locks in its doc.go; kernel/store has the table of all locks.
//
//	subject                                        package
//	products, prices, quotes                       quoting, quoting/catalog, quoting/product, quoting/pricing
//	binding, policies, capacities, moratoria       underwriting, underwriting/capacity
//	registered sources and their health            hazard/sources
//	observations and occurrences                   hazard, hazard/occurrence, hazard/summary
//	reports of one event by several sources        hazard/reports, hazard/measurement
//	whether and how much a trigger pays            hazard/trigger
//	claims and duplicates of claims                claims, claims/candidates, claims/adjudication, internal/rules
//	measurement states, challenges, early warnings claims/measured, claims/challenge, claims/watches
//	whether a payout may be sent                   payouts, payouts/controls
//	sending a payout, inquiry and retry            payouts/release
//	reports of the rail                            payouts/reconciliation
//	events, feeds, webhooks                        events, events/webhooks
//	entries and balances                           ledger
//	signed receipts of quotes and claims           receipts, receipts/receipt
//	figures and what-if questions                  insight/portfolio, insight/progress, insight/scenario
//	partners, audit log, requests of the sandbox   partners, audit, sandbox
//	due work, metrics, restore, erasure            operations, operations/privacy
//	transactions, rows, lists, idempotency         kernel/store and the packages below kernel, such as kernel/sums
//	values and records without a database          money, account, wire
package model
