package seal

import (
	"bytes"
	"encoding/base64"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
)

func TestSealKeyNamesAreBounded(t *testing.T) {
	t.Parallel()
	named := func(id string) Keys {
		secret := bytes.Repeat([]byte("k"), 32)
		return Keys{Seal: []Key{{ID: id, Secret: secret}}, Fingerprint: secret}
	}
	require.NoError(t, named(strings.Repeat("k", 32)).Check())
	require.ErrorContains(t, named(strings.Repeat("k", 33)).Check(), "at most 32 bytes")
	require.Error(t, named("").Check())
}

// testKey returns a key whose secret is 32 times its letter.
func testKey(id, letter string) Key { return Key{ID: id, Secret: []byte(strings.Repeat(letter, 32))} }

func TestKeysAreChecked(t *testing.T) {
	t.Parallel()
	fingerprint := bytes.Repeat([]byte("f"), 32)
	for problem, keys := range map[string]Keys{
		"":                       {Seal: []Key{testKey("new", "a"), testKey("old", "b")}, Fingerprint: fingerprint},
		"one seal key":           {Fingerprint: fingerprint},
		"a fingerprint key":      {Seal: []Key{testKey("new", "a")}, Fingerprint: fingerprint[:31]},
		`the name "new"`:         {Seal: []Key{testKey("new", "a"), testKey("new", "b")}, Fingerprint: fingerprint},
		"32 bytes of secret":     {Seal: []Key{{ID: "new", Secret: fingerprint[:31]}}, Fingerprint: fingerprint},
		`seal key "old" needs a`: {Seal: []Key{testKey("new", "a"), {ID: "old", Secret: append(fingerprint, 'f')}}, Fingerprint: fingerprint},
	} {
		if err := keys.Check(); problem == "" {
			require.NoError(t, err)
		} else {
			require.ErrorContains(t, err, problem)
		}
	}
}

func TestSealedBytesOpenOnlyAtTheirPlaceWithTheirKey(t *testing.T) {
	t.Parallel()
	before := Keys{Seal: []Key{testKey("old", "a")}}
	rotated := Keys{Seal: []Key{testKey("new", "b"), testKey("old", "a")}}
	row := uuid.MustParse("01932d6e-5a2b-7c00-8000-000000000001")
	place := ColumnContext("acme", row, "payout_methods.account")
	for _, plain := range [][]byte{[]byte("DE02120300000000202051"), {}} {
		sealed, err := before.SealBytes(plain, place)
		require.NoError(t, err)
		again, err := before.SealBytes(plain, place)
		require.NoError(t, err)
		require.NotEqual(t, sealed, again, "each has its own nonce")
		require.False(t, len(plain) > 0 && bytes.Contains(sealed, plain))
		for _, keys := range []Keys{before, rotated} {
			opened, err := keys.OpenBytes(sealed, place)
			require.NoError(t, err)
			require.Equal(t, string(plain), string(opened))
		}
		for name, elsewhere := range map[string][]byte{
			"partner": ColumnContext("globex", row, "payout_methods.account"), "column": ColumnContext("acme", row, "payout_methods.holder"),
			"row": ColumnContext("acme", uuid.Nil, "payout_methods.account"), "nothing": nil,
		} {
			_, err := rotated.OpenBytes(sealed, elsewhere)
			require.ErrorIs(t, err, ErrUnsealFailed, name)
		}
		_, err = Keys{Seal: []Key{testKey("new", "b")}}.OpenBytes(sealed, place)
		require.ErrorIs(t, err, ErrUnsealFailed)
		require.ErrorContains(t, err, `no key "old"`)
		_, err = Keys{Seal: []Key{testKey("old", "c")}}.OpenBytes(sealed, place)
		require.ErrorIs(t, err, ErrUnsealFailed, "another secret of the same name")
		latest, err := rotated.SealBytes(plain, place)
		require.NoError(t, err)
		require.Equal(t, "\x03new", string(latest[:4]), "the first key seals")
	}
}

func TestDamagedSealedBytesDoNotOpen(t *testing.T) {
	t.Parallel()
	keys := Keys{Seal: []Key{testKey("test", "a")}}
	sealed, err := keys.SealBytes([]byte("secret"), nil)
	require.NoError(t, err)
	for i := range sealed {
		_, err := keys.OpenBytes(sealed[:i], nil)
		require.ErrorIs(t, err, ErrUnsealFailed, "the first %d bytes", i)
		damaged := bytes.Clone(sealed)
		damaged[i] ^= 1
		_, err = keys.OpenBytes(damaged, nil)
		require.ErrorIs(t, err, ErrUnsealFailed, "byte %d", i)
	}
	_, err = keys.OpenBytes(append(sealed, 0), nil)
	require.ErrorIs(t, err, ErrUnsealFailed)
	for length := range 256 {
		text := bytes.Repeat([]byte{byte(length)}, 1+length)
		for _, sealed := range [][]byte{text[:length], text, append(text, text...)} {
			_, err = keys.OpenBytes(sealed, nil)
			require.ErrorIs(t, err, ErrUnsealFailed, "a key name of %d bytes in %d", length, len(sealed))
		}
	}
}

func TestCursorKeysDoNotOpenSecrets(t *testing.T) {
	t.Parallel()
	keys := Keys{Seal: []Key{testKey("new", "a"), testKey("old", "b")}, Fingerprint: bytes.Repeat([]byte("f"), 32)}
	cursors, err := keys.DeriveCursorKeys()
	require.NoError(t, err)
	require.Len(t, cursors.Seal, 2)
	require.Empty(t, cursors.Fingerprint)
	again, err := keys.DeriveCursorKeys()
	require.NoError(t, err)
	require.Equal(t, cursors, again, "every server derives the same")
	require.NotEqual(t, cursors.Seal[0].Secret, cursors.Seal[1].Secret)
	secret, err := keys.SealBytes([]byte("secret"), nil)
	require.NoError(t, err)
	_, err = cursors.OpenBytes(secret, nil)
	require.ErrorIs(t, err, ErrUnsealFailed)
	cursor, err := cursors.SealBytes([]byte("cursor"), nil)
	require.NoError(t, err)
	_, err = keys.OpenBytes(cursor, nil)
	require.ErrorIs(t, err, ErrUnsealFailed)
}

func TestEqualCursorsAreSealedEqually(t *testing.T) {
	t.Parallel()
	keys := Keys{Seal: []Key{testKey("new", "a"), testKey("old", "b")}}
	seal := func(keys Keys, plain, bound string) string {
		sealed, err := keys.SealCursor([]byte(plain), []byte(bound))
		require.NoError(t, err)
		opened, err := keys.OpenCursor(sealed, []byte(bound))
		require.NoError(t, err)
		require.Equal(t, plain, string(opened))
		raw, err := base64.RawURLEncoding.DecodeString(sealed)
		require.NoError(t, err)
		return string(raw)
	}
	first := seal(keys, "cursor", "list")
	require.Equal(t, first, seal(keys, "cursor", "list"))
	nonces := map[string]bool{}
	for _, sealed := range []string{
		seal(keys, "cursor", "list"), seal(keys, "cursor2", "list"), seal(keys, "cursor", "list2"), seal(keys, "", "list"), seal(keys, "tcursor", "lis"),
		seal(Keys{Seal: []Key{testKey("new", "c")}}, "cursor", "list"),
	} {
		nonces[sealed[4:4+nonceSize]] = true
	}
	require.Len(t, nonces, 6, "different arguments or keys have different nonces")
}

func TestFingerprintsAreEqualForEqualPartsOnly(t *testing.T) {
	t.Parallel()
	keys := Keys{Fingerprint: bytes.Repeat([]byte("f"), 32)}
	one := keys.ComputeFingerprint("acme", "iban", "DE02")
	require.Regexp(t, `^fp_[0-9a-f]{32}$`, one)
	require.Equal(t, one, keys.ComputeFingerprint("acme", "iban", "DE02"))
	for _, parts := range [][]string{{"globex", "iban", "DE02"}, {"acme", "iban", "DE03"}, {"acme", "ibanDE02"}, {"acmeiban", "DE02"}, {"acme", "iban", "DE02", ""}} {
		require.NotEqual(t, one, keys.ComputeFingerprint(parts...), parts)
	}
	require.NotEqual(t, one, Keys{Fingerprint: bytes.Repeat([]byte("g"), 32)}.ComputeFingerprint("acme", "iban", "DE02"))
}
