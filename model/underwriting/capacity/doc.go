// Package capacity limits how much can be insured at a place, and stops sales there.
//
// A capacity is a maximum of insured sums per product, currency and cell of one degree. A
// moratorium (MoratoriumRow) stops binding around a point for a time; it is active until
// it ends or is lifted. Rules declare moratoria by themselves when an event is recorded.
//
// A bind of a limited product takes an advisory lock for its product and cell, then sums
// the policies, its own included. Binds in other cells, or without a capacity, do not
// wait. Start reading at capacity.go and moratorium.go.
package capacity
