// Package quoting prices covers. A quote (QuoteRow) is priced, bound or expired. It
// stores its price and the basis of the price, which lists the events that it was
// computed from, so that anybody can compute it again. Package catalog has the products,
// package pricing the formula; package underwriting binds quotes.
//
// Pricing takes no locks; a bind and the sweep lock the row of the quote. Start reading
// at quote.go.
package quoting
