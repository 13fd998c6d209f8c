package graph

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"parapet/graph/guard"
)

// ReadTrustedDocuments reads trusted documents. A folder has one document per *.graphql
// file, named by its file name and by the SHA-256 of its text. A file has the format of
// common client build tools: an object of texts by name, or a manifest of operations with
// id and body.
func ReadTrustedDocuments(path string) (map[string]string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	texts := map[string]string{}
	if info.IsDir() {
		err = readFolder(path, texts)
	} else {
		err = readManifest(path, texts)
	}
	if err != nil {
		return nil, err
	}
	if len(texts) == 0 {
		return nil, fmt.Errorf("%s holds no document: no request could be answered", path)
	}
	trusted := map[string]string{}
	for name, text := range texts {
		trusted[strings.TrimPrefix(name, "sha256:")], trusted[hashDocument(text)] = text, text
	}
	return trusted, nil
}

func readFolder(path string, texts map[string]string) error {
	files, err := filepath.Glob(filepath.Join(path, "*.graphql"))
	if err != nil {
		return err
	}
	for _, file := range files {
		text, err := os.ReadFile(file) //nolint:gosec // the operator's own folder
		if err != nil {
			return err
		}
		texts[strings.TrimSuffix(filepath.Base(file), ".graphql")] = string(text)
	}
	return nil
}

// manifest is the format of Apollo's tools.
type manifest struct {
	Operations []struct {
		ID   string `json:"id"`
		Body string `json:"body"`
	} `json:"operations"`
}

func readManifest(path string, texts map[string]string) error {
	content, err := os.ReadFile(path) //nolint:gosec // the operator's own file
	if err != nil {
		return err
	}
	var members map[string]jsontext.Value
	if err := json.Unmarshal(content, &members); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if _, listed := members["operations"]; !listed || members["operations"].Kind() != '[' {
		if err := json.Unmarshal(content, &texts); err != nil {
			return fmt.Errorf("%s is neither an object of texts nor a manifest: %w", path, err)
		}
		return nil
	}
	var m manifest
	if err := json.Unmarshal(content, &m); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	for _, operation := range m.Operations {
		texts[operation.ID] = operation.Body
	}
	return nil
}

// checkTrusted validates every trusted document, so that a server does not start with one
// that cannot run.
func (a *admission) checkTrusted() error {
	for _, name := range slices.Sorted(maps.Keys(a.documents.trusted)) {
		document, err := a.guard.Read(a.documents.trusted[name])
		if err == nil {
			err = validateDocument(document)
		}
		if err != nil {
			return fmt.Errorf("the trusted document %s: %w", name, err)
		}
	}
	return nil
}

func validateDocument(document *guard.Document) error {
	if refusals := document.Validate(true); len(refusals) > 0 {
		return refusals
	}
	return nil
}
