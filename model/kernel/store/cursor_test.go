package store

import (
	"bytes"
	"encoding/base64"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"parapet/model/kernel/actor"
	"parapet/model/kernel/apperr"
	"parapet/model/kernel/seal"
)

func testKeys() seal.Keys {
	return seal.Keys{Seal: []seal.Key{{ID: "test", Secret: bytes.Repeat([]byte("k"), 32)}}}
}

// A cursor comes from outside, so it must not be sealed with the key of stored secrets.
func TestCursorsAreSealedWithSeparateKey(t *testing.T) {
	t.Parallel()
	keys := testKeys()
	cursorKeys, err := keys.DeriveCursorKeys()
	require.NoError(t, err)
	s := &Store{Keys: keys, cursorKeys: cursorKeys}
	actor := actor.Actor{Kind: actor.KindPartner, Partner: "acme"}
	p, err := s.ParsePage(actor, PageRequest{}, "quotes", SortNewestFirst)
	require.NoError(t, err)
	cursor, err := p.seal("here")
	require.NoError(t, err)
	sealed, err := base64.RawURLEncoding.DecodeString(cursor)
	require.NoError(t, err)
	_, err = keys.OpenBytes(sealed, p.scope())
	require.ErrorIs(t, err, seal.ErrUnsealFailed)

	stored, err := keys.SealBytes([]byte("here"), p.scope())
	require.NoError(t, err)
	_, err = s.ParsePage(actor, PageRequest{Cursor: base64.RawURLEncoding.EncodeToString(stored)}, "quotes", SortNewestFirst)
	require.Equal(t, apperr.CodeCursorInvalid, apperr.CodeOf(err))
}

// A list's own order may be named or left out, and cursors of earlier releases, which
// bound it when it was named, still open.
func TestCursorsOpenWithTheListsOwnOrderNamedOrLeftOut(t *testing.T) {
	t.Parallel()
	keys, err := testKeys().DeriveCursorKeys()
	require.NoError(t, err)
	s, caller := &Store{cursorKeys: keys}, actor.Actor{Kind: actor.KindPartner, Partner: "acme"}
	for own, named := range map[SortOrder]Order{SortNewestFirst: NewestFirst, SortOldestFirst: OldestFirst} {
		other := map[Order]Order{NewestFirst: OldestFirst, OldestFirst: NewestFirst}[named]
		open := func(order Order, cursor string) error {
			p, err := s.ParsePage(caller, PageRequest{Order: order, Cursor: cursor}, "quotes", own)
			require.True(t, err != nil || p.After == "here")
			return err
		}
		for _, order := range []Order{"", named, other} {
			p, err := s.ParsePage(caller, PageRequest{Order: order}, "quotes", own)
			require.NoError(t, err)
			cursor, err := p.seal("here")
			require.NoError(t, err)
			again, err := p.seal("here")
			require.NoError(t, err)
			require.Equal(t, cursor, again)
			for _, read := range []Order{"", named, other} {
				require.Equal(t, (order == other) == (read == other), open(read, cursor) == nil, "%q read as %q", order, read)
			}
		}
		for _, order := range []Order{named, other} {
			earlier, err := keys.SealBytes([]byte("here"), []byte("partner/acme/quotes,"+string(order)))
			require.NoError(t, err)
			require.NoError(t, open(order, base64.RawURLEncoding.EncodeToString(earlier)))
		}
	}
}

// FuzzCursor opens any text as a cursor: it is rejected unless Parapet sealed it, and a
// sealed one opens only for the same caller and list.
func FuzzCursor(f *testing.F) {
	f.Add("", "acme", "quotes", "globex", "quotes")
	f.Add("BHRlc3Q", "acme", "quotes?[\"\"]", "acme", "claims?[\"\"]")
	f.Add("_____w", "", "timeline", "acme", "")
	cursorKeys, err := testKeys().DeriveCursorKeys()
	require.NoError(f, err)
	s := &Store{cursorKeys: cursorKeys}
	f.Fuzz(func(t *testing.T, text, owner, list, other, otherList string) {
		if strings.Contains(owner+other, "/") {
			return // a partner's name is a slug
		}
		mine := actor.Actor{Kind: actor.KindPartner, Partner: owner}
		if text != "" {
			_, err := s.ParsePage(mine, PageRequest{Cursor: text}, list, SortNewestFirst)
			require.Equal(t, apperr.CodeCursorInvalid, apperr.CodeOf(err))
		}
		p, err := s.ParsePage(mine, PageRequest{Limit: 1}, list, SortNewestFirst)
		require.NoError(t, err)
		rows := []string{text, "and more"}
		sealed, err := NewPage(p, rows, func(row *string) string { return *row }, func(row *string) string { return *row })
		require.NoError(t, err)
		again, err := s.ParsePage(mine, PageRequest{Cursor: *sealed.NextCursor}, list, SortNewestFirst)
		require.NoError(t, err)
		require.Equal(t, text, again.After)
		if owner != other || list != otherList {
			_, err = s.ParsePage(actor.Actor{Kind: actor.KindPartner, Partner: other}, PageRequest{Cursor: *sealed.NextCursor}, otherList, SortNewestFirst)
			require.Equal(t, apperr.CodeCursorInvalid, apperr.CodeOf(err))
		}
	})
}

// FuzzID parses any text as an id: each record has exactly one valid text, all others are
// not found. Only the prefix of another kind has a different error, which reveals nothing
// about records.
func FuzzID(f *testing.F) {
	for _, seed := range []string{"", "quo_", ResourceQuote.FormatID(uuid.Max), "quo_01h455vb4pex5vsknk084sn02q", "QUO_01h455vb4pex5vsknk084sn02q", "quo_\x00", "pol_8zzzzzzzzzzzzzzzzzzzzzzzzz"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, n := range eventSubjects {
			id, err := n.ParseID(text)
			if err == nil {
				require.Equal(t, text, n.FormatID(id))
				continue
			}
			prefix, _, _ := strings.Cut(text, "_")
			_, bare := n.ParseID(prefix + "_")
			require.Equal(t, apperr.CodeNotFound, apperr.CodeOf(err))
			require.Equal(t, bare, err, "every fault after the prefix has the same error")
			if !slices.ContainsFunc(partnerResources, func(other ResourceType) bool { return other.prefix == prefix && other != n }) {
				require.Equal(t, n.NotFoundError(), err)
			}
		}
	})
}
