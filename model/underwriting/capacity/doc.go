// Package capacity limits how much can be insured at a place, and stops sales there.
//
// A capacity is a maximum of insured sums per product, currency and cell of one degree. A
// moratorium stops binding around a point for a time; rules declare moratoria by
// themselves when an event is recorded. A bind locks the usage rows of its cell, which
// serializes binds of one cell only.
//
// Start reading at capacity.go and moratorium.go.
package capacity
