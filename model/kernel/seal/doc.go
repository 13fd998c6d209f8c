// Package seal encrypts secrets of the database, such as account numbers, and computes
// fingerprints of accounts. Keys holds the present key and earlier ones; the first seals,
// all of them open. A sealed value is bound to its partner, row and column, so that it
// cannot be copied to another row. It has no states and takes no locks. Start reading at
// keys.go.
package seal
