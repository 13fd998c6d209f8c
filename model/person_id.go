package model

import (
	"cmp"
	"strings"
)

// personID identifies the person or program behind a token: the issuer and its subject,
// joined by "#", because a subject is unique at its issuer only. It has no issuer for
// Parapet itself, for a shell on the server and in rows older than this type.
type personID string

// personID identifies the actor wherever it matters who acted: approvals, the audit
// log, idempotency keys.
func (a Actor) personID() personID {
	if a.Issuer == "" {
		return personID(a.subjectOrName())
	}
	return personID(a.Issuer + "#" + a.subjectOrName())
}

// subjectOrName is what the issuer calls the actor.
func (a Actor) subjectOrName() string { return cmp.Or(a.Subject, a.Name) }

// isActor reports whether the actor is this person. An id without issuer counts as every
// person of that subject: whether it was another one is unknown, and nobody approves
// twice.
func (p personID) isActor(a Actor) bool { return p == a.personID() || p == personID(a.subjectOrName()) }

func (p personID) split() (issuer, subject string) {
	issuer, subject, found := strings.Cut(string(p), "#")
	if !found || !strings.Contains(issuer, "://") {
		return "", string(p)
	}
	return issuer, subject
}

// name is the subject, unique together with issuer.
func (p personID) name() string {
	_, subject := p.split()
	return subject
}

// issuer is nil where there is none.
func (p personID) issuer() *string {
	issuer, _ := p.split()
	return stringOrNil(issuer)
}

// nameAndIssuer is name and issuer of a person who may not have acted yet.
func (p *personID) nameAndIssuer() (name, issuer *string) {
	if p == nil {
		return nil, nil
	}
	return new(p.name()), p.issuer()
}
