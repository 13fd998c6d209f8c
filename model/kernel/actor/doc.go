// Package actor is who acts: the caller of an operation with its kind, scopes, identity and
// the conditions of its request. API layers build an Actor from a verified token.
package actor
