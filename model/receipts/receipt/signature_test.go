package receipt_test

import (
	"bytes"
	"encoding/base64"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/stretchr/testify/require"

	"parapet/model/receipts/receipt"
	"parapet/model/wire"
)

var testSeed = bytes.Repeat([]byte{7}, 32)

func signTest(t *testing.T, payload any) *wire.Receipt {
	t.Helper()
	signed, err := receipt.NewKeys(testSeed).Sign(payload)
	require.NoError(t, err)
	return signed
}

// The example of RFC 8785 section 3.2.3, without its lone surrogates.
func TestCanonicalJSONOfTheStandard(t *testing.T) {
	t.Parallel()
	got, err := receipt.CanonicalText([]byte(`{
		"numbers": [333333333.33333329, 1E30, 4.50, 2e-3, 0.000000000000000000000000001],
		"string": "\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/",
		"literals": [null, true, false]
	}`))
	require.NoError(t, err)
	require.Equal(t, `{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],"string":"€$\u000f\nA'B\"\\\\\"/"}`, string(got)) //nolint:testifylint // the bytes count
	_, err = receipt.CanonicalText([]byte(`{"a":1,"a":2}`))
	require.Error(t, err, "a duplicate name")
	sorted, err := receipt.CanonicalText([]byte(`{"\ud83d\ude00":1,"\ufb33":2,"\u20ac":3,"1":4,"\r":5}`))
	require.NoError(t, err)
	require.Equal(t, "{\"\\r\":5,\"1\":4,\"€\":3,\"😀\":1,\"\ufb33\":2}", string(sorted), "members are sorted by UTF-16")
}

// The key of RFC 8037 appendix A.
func TestThumbprintOfTheStandard(t *testing.T) {
	t.Parallel()
	seed, err := base64.RawURLEncoding.DecodeString("nWGxne_9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A")
	require.NoError(t, err)
	key := receipt.NewKeys(seed).Public().Keys[0]
	require.Equal(t, "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo", key.X)
	require.Equal(t, "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k", key.Kid)
}

func TestSignatureIsTrustedByFileOrPin(t *testing.T) {
	t.Parallel()
	signed := signTest(t, map[string]any{"b": 1, "a": "ä"})
	require.Equal(t, `{"a":"ä","b":1}`, string(signed.Payload)) //nolint:testifylint // the bytes count
	keys := receipt.NewKeys(testSeed).Public()
	text, err := json.Marshal(signed)
	require.NoError(t, err)
	spaced := strings.ReplaceAll(string(text), `{"a":"ä","b":1}`, "{ \"b\": 1.0,\n \"a\": \"\\u00e4\" }")
	for _, form := range []string{string(text), spaced} {
		read, err := receipt.ParseSigned([]byte(form))
		require.NoError(t, err)
		for _, trust := range []receipt.Trust{{Keys: keys}, {Pin: keys.Keys[0].Kid}} {
			_, err = receipt.CheckSignature(read, trust)
			require.NoError(t, err)
		}
	}
	for n := range text {
		_, err := receipt.ParseSigned(text[:n])
		require.Error(t, err, "cut after %d bytes", n)
	}
}

func TestSignatureOfUnknownOrCompromisedKeyIsRefused(t *testing.T) {
	t.Parallel()
	signed := signTest(t, map[string]int{"a": 1})
	other := receipt.NewKeys(bytes.Repeat([]byte{8}, 32)).Public()
	compromised := receipt.NewKeys(testSeed).Public()
	compromised.Keys[0].Status = string(receipt.KeyCompromised)
	for want, trust := range map[string]receipt.Trust{
		"no key is trusted":            {},
		"is not in the file of keys":   {Keys: other, Pin: compromised.Keys[0].Kid},
		"is not the pinned one":        {Pin: other.Keys[0].Kid},
		"is compromised":               {Keys: compromised},
		"does not belong to this payl": {Keys: receipt.NewKeys(testSeed).Public()},
	} {
		changed := *signed
		if strings.HasPrefix(want, "does not") {
			changed.Payload = []byte(`{"a":2}`)
		}
		_, err := receipt.CheckSignature(&changed, trust)
		require.ErrorContains(t, err, want)
	}
	changed := *signed
	changed.Key = other.Keys[0]
	_, err := receipt.CheckSignature(&changed, receipt.Trust{Pin: compromised.Keys[0].Kid})
	require.ErrorContains(t, err, "is not the pinned one", "the key of a receipt is that of the pin or not used")
}

func TestHeaderHasNothingElse(t *testing.T) {
	t.Parallel()
	signed := signTest(t, map[string]int{"a": 1})
	keys := receipt.NewKeys(testSeed).Public()
	_, signature, _ := strings.Cut(signed.JWS, "..")
	id := keys.Keys[0].Kid
	for header, want := range map[string]string{
		`{"alg":"none","kid":"` + id + `","typ":"parapet-receipt"}`:                               `algorithm is "none"`,
		`{"alg":"EdDSA","kid":"` + id + `","typ":"parapet-receipt"}`:                              `algorithm is "EdDSA"`,
		`{"alg":"HS256","kid":"` + id + `","typ":"parapet-receipt"}`:                              `algorithm is "HS256"`,
		`{"alg":"Ed25519","kid":"` + id + `","typ":"JWT"}`:                                        `typ is "JWT"`,
		`{"alg":"Ed25519","kid":"` + id + `","typ":"parapet-receipt","jwk":{"kty":"OKP"}}`:        "refused",
		`{"alg":"Ed25519","kid":"` + id + `","typ":"parapet-receipt","crit":["b64"],"b64":false}`: "refused",
		`{"alg":"Ed25519","alg":"none","kid":"` + id + `","typ":"parapet-receipt"}`:               "refused",
		`{"alg":"Ed25519","kid":"other","typ":"parapet-receipt"}`:                                 "not in the file",
		`{"alg":"Ed25519", "kid":"` + id + `","typ":"parapet-receipt"}`:                           "does not belong",
		`{"alg":"Ed25519","kid":"` + id + `","typ":"parapet-receipt"`:                             "refused",
	} {
		changed := *signed
		changed.JWS = base64.RawURLEncoding.EncodeToString([]byte(header)) + ".." + signature
		_, err := receipt.CheckSignature(&changed, receipt.Trust{Keys: keys})
		require.ErrorContains(t, err, want, header)
	}
	for _, jws := range []string{"", "..", "a.b.c", signed.JWS + "=", strings.Replace(signed.JWS, "..", ".e30.", 1)} {
		changed := *signed
		changed.JWS = jws
		_, err := receipt.CheckSignature(&changed, receipt.Trust{Keys: keys})
		require.Error(t, err, jws)
	}
}

func TestKeysAreRotated(t *testing.T) {
	t.Parallel()
	seed := func(n byte) string { return base64.StdEncoding.EncodeToString(bytes.Repeat([]byte{n}, 32)) }
	old := receipt.NewKeys(bytes.Repeat([]byte{1}, 32)).Public().Keys[0]
	keys, err := receipt.ParseKeys([]string{"retired:x." + old.X, "active:" + seed(2), "active:" + seed(3), "compromised:" + seed(4)})
	require.NoError(t, err)
	set := keys.Public()
	var statuses []string
	for _, key := range set.Keys {
		statuses = append(statuses, key.Status)
	}
	require.Equal(t, []string{"retired", "active", "active", "compromised"}, statuses)
	require.Equal(t, old.Kid, set.Keys[0].Kid)
	signed, err := keys.Sign(map[string]int{})
	require.NoError(t, err)
	require.Equal(t, set.Keys[1].Kid, signed.Key.Kid, "the first active key signs")
	before, err := receipt.NewKeys(bytes.Repeat([]byte{1}, 32)).Sign(map[string]int{})
	require.NoError(t, err)
	_, err = receipt.CheckSignature(before, receipt.Trust{Keys: set})
	require.NoError(t, err, "receipts of a retired key stay valid")

	none, err := receipt.ParseKeys(nil)
	require.NoError(t, err)
	_, err = none.Sign(map[string]int{})
	require.ErrorIs(t, err, receipt.ErrNoKey)
	for _, entry := range []string{"", seed(1), "active", "active:", "active:abc", "active:x." + old.X, "retired:x.abc", "gone:" + seed(1)} {
		_, err := receipt.ParseKeys([]string{entry})
		require.Error(t, err, entry)
	}
	_, err = receipt.ParseKeys([]string{"active:" + seed(1), "retired:x." + old.X})
	require.ErrorContains(t, err, "an earlier entry")
}

func TestKeySetIsReadStrictly(t *testing.T) {
	t.Parallel()
	text, err := json.Marshal(receipt.NewKeys(testSeed).Public())
	require.NoError(t, err)
	_, err = receipt.ParseKeySet(text)
	require.NoError(t, err)
	for from, to := range map[string]string{`"active"`: `"valid"`, `"Ed25519"`: `"Ed448"`, `"kid":"`: `"kid":"a`, `"x":"`: `"x":"a`, `"OKP"`: `"EC"`, `{"keys":[`: `{"keys":[`} {
		changed := strings.ReplaceAll(string(text), from, to)
		if from == to {
			changed = `{"keys":[]}`
		}
		_, err := receipt.ParseKeySet([]byte(changed))
		require.Error(t, err, changed)
	}
}
