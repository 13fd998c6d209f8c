// Package quoting prices covers. A quote is priced, bound or expired. The basis of a price lists the events that it was computed
// from, so that anybody can compute it again. Package pricing has the formula. Start
// reading at quote.go.
package quoting
