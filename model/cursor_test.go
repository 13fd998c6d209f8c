package model

import (
	"bytes"
	"encoding/base64"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
)

func testKeys() Keys {
	return Keys{Seal: []SealKey{{ID: "test", Secret: bytes.Repeat([]byte("k"), 32)}}}
}

// A cursor is text from outside: it must not be sealed with the key of stored secrets.
func TestCursorsAreSealedWithAKeyOfTheirOwn(t *testing.T) {
	t.Parallel()
	keys := testKeys()
	cursorKeys, err := keys.forCursors()
	require.NoError(t, err)
	s := &Service{keys: keys, cursorKeys: cursorKeys}
	actor := Actor{Kind: ActorPartner, Partner: "acme"}
	p, err := s.page(actor, PageRequest{}, "quotes")
	require.NoError(t, err)
	cursor, err := p.cursor("here")
	require.NoError(t, err)
	sealed, err := base64.RawURLEncoding.DecodeString(cursor)
	require.NoError(t, err)
	_, err = keys.open(sealed, []byte(p.filter))
	require.ErrorIs(t, err, errSealed)

	stored, err := keys.seal([]byte("here"), []byte(p.filter))
	require.NoError(t, err)
	_, err = s.page(actor, PageRequest{Cursor: base64.RawURLEncoding.EncodeToString(stored)}, "quotes")
	require.Equal(t, CodeCursorInvalid, CodeOf(err))
}

// FuzzCursor opens any text as a cursor: it is refused unless we sealed it, and
// what we sealed opens for the same caller and the same list only.
func FuzzCursor(f *testing.F) {
	f.Add("", "acme", "quotes", "globex", "quotes")
	f.Add("BHRlc3Q", "acme", "quotes?[\"\"]", "acme", "claims?[\"\"]")
	f.Add("_____w", "", "timeline", "acme", "")
	cursorKeys, err := testKeys().forCursors()
	require.NoError(f, err)
	s := &Service{cursorKeys: cursorKeys}
	f.Fuzz(func(t *testing.T, text, owner, list, other, otherList string) {
		if strings.Contains(owner+other, "/") {
			return // a partner's name is a slug
		}
		mine := Actor{Kind: ActorPartner, Partner: owner}
		if text != "" {
			_, err := s.page(mine, PageRequest{Cursor: text}, list)
			require.Equal(t, CodeCursorInvalid, CodeOf(err))
		}
		p, err := s.page(mine, PageRequest{Limit: 1}, list)
		require.NoError(t, err)
		rows := []string{text, "and more"}
		sealed, err := paged(p, rows, func(row *string) string { return *row }, func(row *string) string { return *row })
		require.NoError(t, err)
		again, err := s.page(mine, PageRequest{Cursor: *sealed.NextCursor}, list)
		require.NoError(t, err)
		require.Equal(t, text, again.after)
		if owner != other || list != otherList {
			_, err = s.page(Actor{Kind: ActorPartner, Partner: other}, PageRequest{Cursor: *sealed.NextCursor}, otherList)
			require.Equal(t, CodeCursorInvalid, CodeOf(err))
		}
	})
}

// FuzzID reads any text as an id: it is the one text of its record, or it is not found.
// Only the prefix of another kind makes a difference, which tells nothing of records.
func FuzzID(f *testing.F) {
	for _, seed := range []string{"", "quo_", nounQuote.id(uuid.Max), "quo_01h455vb4pex5vsknk084sn02q", "QUO_01h455vb4pex5vsknk084sn02q", "quo_\x00", "pol_8zzzzzzzzzzzzzzzzzzzzzzzzz"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, n := range subjects {
			id, err := n.parse(text)
			if err == nil {
				require.Equal(t, text, n.id(id))
				continue
			}
			prefix, _, _ := strings.Cut(text, "_")
			_, bare := n.parse(prefix + "_")
			require.Equal(t, CodeNotFound, CodeOf(err))
			require.Equal(t, bare, err, "the same answer whatever is wrong behind the prefix")
			if !slices.ContainsFunc(nouns, func(other noun) bool { return other.prefix == prefix && other != n }) {
				require.Equal(t, n.notFound(), err)
			}
		}
	})
}
