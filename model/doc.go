// Package model is the shared domain layer: the nouns of parametric protection,
// their rules, their operations and the transactions they happen in.
package model
