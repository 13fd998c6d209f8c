// Package event lists the types of events: what happened to which type of record. Every
// change of a record is one event.
package event
