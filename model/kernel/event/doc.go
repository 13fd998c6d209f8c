// Package event lists the types of events: what happened to which type of record. Every
// change of a record is one event. The lists of transitions of the subdomains name the
// event of each change. The package contains constants only: no states, no locks. Start
// reading at type.go.
package event
