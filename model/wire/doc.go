// Package wire defines the public v1 records exactly as partners see them. REST returns
// these structs and events store their bytes, so there is one encoder and the two
// cannot differ.
package wire
