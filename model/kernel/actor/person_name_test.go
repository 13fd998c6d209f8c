package actor_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"parapet/model/kernel/actor"
)

func TestPersonIDIsReadBackAsIssuerAndSubject(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		subject := rapid.StringMatching(`[a-z#:/@ ]{1,12}`).Draw(t, "subject")
		issuer := rapid.SampledFrom([]string{"https://id.parapet.test", "http://127.0.0.1:8081/realms/a"}).Draw(t, "issuer")
		id := actor.Actor{Issuer: issuer, Subject: subject, Name: "another name"}.PersonID()
		require.Equal(t, subject, id.Name())
		require.Equal(t, issuer, *id.Issuer())
		name, of := (&id).NameAndIssuer()
		require.Equal(t, []string{subject, issuer}, []string{*name, *of})
	})
}

// A subject without issuer may contain the separator; it is not an issuer then.
func TestPersonIDWithoutIssuerIsTheWholeName(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"olive", "dept#olive", "#olive", "olive#", "https://id.test"} {
		id := actor.Actor{Name: name}.PersonID()
		require.Equal(t, actor.PersonID(name), id)
		require.Equal(t, name, id.Name())
		require.Nil(t, id.Issuer())
	}
	name, issuer := (*actor.PersonID)(nil).NameAndIssuer()
	require.Nil(t, name)
	require.Nil(t, issuer)
}

func TestPersonIsRecognisedByIssuerAndSubject(t *testing.T) {
	t.Parallel()
	ann := actor.Actor{Issuer: "https://id.parapet.test", Subject: "ann", Name: "Ann of the console"}
	for id, same := range map[actor.PersonID]bool{
		ann.PersonID(): true, "ann": true, // an id from before issuers were recorded
		"https://id.elsewhere.test#ann": false, "https://id.parapet.test#bob": false, "bob": false, "Ann of the console": false, "": false,
	} {
		require.Equal(t, same, id.IsActor(ann), id)
	}
	require.Equal(t, "olive", actor.Actor{Name: "olive"}.SubjectOrName())
	require.Equal(t, "u-17", actor.Actor{Subject: "u-17", Name: "olive"}.SubjectOrName())
}
