package model

import (
	"cmp"
	"strings"
)

// personID identifies the person or program behind a token: issuer and subject, joined
// by "#", because a subject is unique only within its issuer. The issuer is absent for
// Parapet itself, for a shell on the server and in rows older than this type.
type personID string

// personID returns the actor's identity for approvals, the audit log and idempotency
// keys.
func (a Actor) personID() personID {
	if a.Issuer == "" {
		return personID(a.subjectOrName())
	}
	return personID(a.Issuer + "#" + a.subjectOrName())
}

// subjectOrName returns the issuer's name for the actor.
func (a Actor) subjectOrName() string { return cmp.Or(a.Subject, a.Name) }

// isActor reports whether the actor is this person. An id without issuer matches every
// person with that subject: the issuer is unknown, and no person may approve twice.
func (p personID) isActor(a Actor) bool { return p == a.personID() || p == personID(a.subjectOrName()) }

func (p personID) split() (issuer, subject string) {
	issuer, subject, found := strings.Cut(string(p), "#")
	if !found || !strings.Contains(issuer, "://") {
		return "", string(p)
	}
	return issuer, subject
}

// name returns the subject, which is unique together with issuer.
func (p personID) name() string {
	_, subject := p.split()
	return subject
}

// issuer returns nil if the id has no issuer.
func (p personID) issuer() *string {
	if issuer, _ := p.split(); issuer != "" {
		return &issuer
	}
	return nil
}

// nameAndIssuer returns name and issuer; both are nil for a nil personID.
func (p *personID) nameAndIssuer() (name, issuer *string) {
	if p == nil {
		return nil, nil
	}
	return new(p.name()), p.issuer()
}
