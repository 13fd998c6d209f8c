// Package portfolio computes the figures of a book of policies: premiums, insured sums,
// claims, payouts and loss ratios, by product, currency and time. It reads in a snapshot
// and changes nothing. Start reading at portfolio.go.
package portfolio
