// Package actor is who acts: the caller of an operation with its kind, scopes, identity
// and the conditions of its request (Precondition, IdempotencyKey). API layers build an
// Actor from a verified token; System is Parapet itself. An Actor is a value: no states,
// no locks. Start reading at actor.go.
package actor
