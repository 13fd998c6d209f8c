// Package challenge lets partners contest decisions on claims, and operators decide these
// challenges.
//
// A challenge is open, rejected or accepted. A claim has at most one that is open. Its text
// is a message of the claim, and its evidence are attachments of the claim. An accepted
// challenge of a declined claim defers the claim, which an operator then decides; one of an
// approved or closed claim adds a further part and never reduces what was approved.
//
// A transaction locks the policy and the claim; the lock of the claim also serializes its
// challenges. Start reading at open.go.
package challenge
