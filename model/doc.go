// Package model is the domain layer that all APIs share: the records of parametric
// insurance, their rules, the operations on them and the transactions of these
// operations.
package model
