package graph

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"github.com/99designs/gqlgen/graphql"

	"parapet/internal/refusal"
	"parapet/model"
)

// library knows documents that callers name instead of sending: trusted ones, or
// those that somebody sent before (automatic persisted queries).
type library struct {
	trusted   map[string]string // texts by name; nil when every document may run
	persisted *kept[string]
}

// persistedKept is how much text of persisted queries is remembered, in bytes.
const persistedKept = 4 << 20

func newLibrary(trusted map[string]string) *library {
	return &library{trusted, keep[string](persistedKept)}
}

// find is the text of the document that a request sends or names. Errors:
// parameter_invalid, PERSISTED_QUERY_NOT_FOUND, query_not_trusted.
func (l *library) find(params *graphql.RawParams) (string, error) {
	name, err := named(params)
	if err != nil {
		return "", err
	}
	switch {
	case l.trusted != nil:
		return l.known(name, params.Query)
	case name == "" && params.Query == "":
		return "", model.Fail(model.CodeParameterInvalid, "The request has no query. Send {\"query\": \"…\"}.")
	case name == "":
		return params.Query, nil
	case params.Query == "":
		text, found := l.persisted.get(name)
		if !found { // the protocol's own words: clients read them and send the text
			return "", model.Fail(refusal.CodePersistedQueryNotFound, "PersistedQueryNotFound")
		}
		return text, nil
	case digest(params.Query) != name:
		return "", model.Fail(model.CodeParameterInvalid, "The hash in extensions.persistedQuery is not the SHA-256 of the query.")
	default:
		return params.Query, nil
	}
}

// known is a trusted document, by its name or by its whole text.
func (l *library) known(name, text string) (string, error) {
	if name == "" {
		name = digest(text)
	}
	trusted, found := l.trusted[name]
	if !found || text != "" && text != trusted {
		return "", model.Fail(refusal.CodeQueryNotTrusted, "This server runs the documents it knows only. Name one of them in documentId.")
	}
	return trusted, nil
}

// note remembers the text of a valid document that came with its hash.
func (l *library) note(params *graphql.RawParams) {
	if name, err := named(params); err == nil && name != "" && l.trusted == nil {
		l.persisted.add(name, params.Query, len(params.Query))
	}
}

// named is the name of a request's document: its SHA-256 in hexadecimal, or any
// other name that a trusted one has; empty when the request has none. It stands
// in documentId, or where automatic persisted queries have it.
func named(params *graphql.RawParams) (string, error) {
	if id, _ := params.Extensions[documentID].(string); id != "" {
		return strings.TrimPrefix(id, "sha256:"), nil
	}
	given, present := params.Extensions["persistedQuery"]
	if !present || given == nil {
		return "", nil
	}
	object, _ := given.(map[string]any)
	hash, _ := object["sha256Hash"].(string)
	if version, ok := object["version"].(interface{ String() string }); !ok || version.String() != "1" || hash == "" {
		return "", model.Fail(model.CodeParameterInvalid, "In extensions, persistedQuery is {\"version\": 1, \"sha256Hash\": \"…\"}.")
	}
	return strings.ToLower(hash), nil
}

// documentID is the member of a request that names its document. It is kept among
// the extensions on its way to the library.
const documentID = "documentId"

// digest is the name of a document that has no other.
func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}
