// Package portfolio computes the figures of a book of policies: premiums, insured sums,
// claims, payouts and loss ratios, by product, currency and time. The main type is
// Portfolio; each of its methods computes one figure in one statement.
//
// It reads committed rows and changes nothing: no states, no locks. Start reading at
// portfolio.go.
package portfolio
