package graph

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"github.com/99designs/gqlgen/graphql"

	"parapet/internal/errormap"
	"parapet/model/kernel/apperr"
)

// documentStore finds documents by name: trusted documents and automatic persisted
// queries (APQ).
type documentStore struct {
	trusted   map[string]string // texts by name; nil allows every document
	persisted *lruCache[string]
}

// maxPersistedBytes limits the text of the cached persisted queries, in bytes.
const maxPersistedBytes = 4 << 20

func newDocumentStore(trusted map[string]string) *documentStore {
	return &documentStore{trusted, newLRUCache[string](maxPersistedBytes)}
}

// findText returns the text of the document that a request sends or names. Errors:
// parameter_invalid, PERSISTED_QUERY_NOT_FOUND, query_not_trusted.
func (s *documentStore) findText(params *graphql.RawParams) (string, error) {
	name, err := documentName(params)
	if err != nil {
		return "", err
	}
	switch {
	case s.trusted != nil:
		return s.findTrusted(name, params.Query)
	case name == "" && params.Query == "":
		return "", apperr.Fail(apperr.CodeParameterInvalid, "The request has no query. Send {\"query\": \"…\"}.")
	case name == "":
		return params.Query, nil
	case params.Query == "":
		text, found := s.persisted.get(name)
		if !found { // the protocol's message: clients react to it and send the text
			return "", apperr.Fail(errormap.CodePersistedQueryNotFound, "PersistedQueryNotFound")
		}
		return text, nil
	case hashDocument(params.Query) != name:
		return "", apperr.Fail(apperr.CodeParameterInvalid, "The hash in extensions.persistedQuery is not the SHA-256 of the query.")
	default:
		return params.Query, nil
	}
}

// findTrusted returns a trusted document by its name or its whole text.
func (s *documentStore) findTrusted(name, text string) (string, error) {
	if name == "" {
		name = hashDocument(text)
	}
	trusted, found := s.trusted[name]
	if !found || text != "" && text != trusted {
		return "", apperr.Fail(errormap.CodeQueryNotTrusted, "This server runs trusted documents only. Give the id of one of them in documentId.")
	}
	return trusted, nil
}

// rememberPersisted caches the text of a valid document that came with its hash.
func (s *documentStore) rememberPersisted(params *graphql.RawParams) {
	if name, err := documentName(params); err == nil && name != "" && s.trusted == nil {
		s.persisted.add(name, params.Query, len(params.Query))
	}
}

// documentName returns the name of a request's document, empty without one: its SHA-256
// in hexadecimal, or any other name of a trusted document. The name is in documentId or
// in the APQ extension.
func documentName(params *graphql.RawParams) (string, error) {
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
		return "", apperr.Fail(apperr.CodeParameterInvalid, "In extensions, persistedQuery is {\"version\": 1, \"sha256Hash\": \"…\"}.")
	}
	return strings.ToLower(hash), nil
}

// documentID is the request member that names its document. It is passed to gqlgen in the
// extensions.
const documentID = "documentId"

// hashDocument returns the default name of a document.
func hashDocument(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}
