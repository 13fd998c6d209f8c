// Package wire holds the public v1 records exactly as partners see them. REST
// answers with these structs and events store their bytes, so there is one
// encoder and the two can never differ.
package wire
