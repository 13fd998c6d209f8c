package actor

import (
	"cmp"
	"strings"
)

// PersonID identifies the person or program behind a token: issuer and subject, joined
// by "#", because a subject is unique only within its issuer. The issuer is absent for
// Parapet itself, for a shell on the server and in rows older than this type.
type PersonID string

// PersonID returns the actor's identity for approvals, the audit log and idempotency
// keys.
func (a Actor) PersonID() PersonID {
	if a.Issuer == "" {
		return PersonID(a.SubjectOrName())
	}
	return PersonID(a.Issuer + "#" + a.SubjectOrName())
}

// SubjectOrName returns the issuer's name for the actor.
func (a Actor) SubjectOrName() string { return cmp.Or(a.Subject, a.Name) }

// IsActor reports whether the actor is this person. An id without issuer matches every
// person with that subject: the issuer is unknown, and no person may approve twice.
func (p PersonID) IsActor(a Actor) bool { return p == a.PersonID() || p == PersonID(a.SubjectOrName()) }

func (p PersonID) split() (issuer, subject string) {
	issuer, subject, found := strings.Cut(string(p), "#")
	if !found || !strings.Contains(issuer, "://") {
		return "", string(p)
	}
	return issuer, subject
}

// Name returns the subject, which is unique together with issuer.
func (p PersonID) Name() string {
	_, subject := p.split()
	return subject
}

// Issuer returns nil if the id has no issuer.
func (p PersonID) Issuer() *string {
	if issuer, _ := p.split(); issuer != "" {
		return &issuer
	}
	return nil
}

// NameAndIssuer returns name and issuer; both are nil for a nil PersonID.
func (p *PersonID) NameAndIssuer() (name, issuer *string) {
	if p == nil {
		return nil, nil
	}
	return new(p.Name()), p.Issuer()
}
