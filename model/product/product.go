// Package product reads products as data: versioned, immutable documents that
// hold a context schema, an index, a place, a trigger, a payout shape, times,
// settlement, price parameters, limits and worked examples. A document whose
// worked examples fail cannot be published.
package product
