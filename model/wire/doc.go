// Package wire defines the public v1 records exactly as partners see them, such as Quote,
// Policy, Claim, Payout and Event. REST returns these structs and events store their
// bytes, so there is one encoder and the two cannot differ. Records are values: no
// states, no locks. Start reading at record.go.
package wire
