package catalog_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"parapet/model/kernel/apperr"
	"parapet/model/modeltest"
	"parapet/model/quoting/product"
)

func TestPublishIsRepeatableAndRejectsOtherContent(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	b.Quote("quake-circle", nil)
	source := shippedDocument(t, "quake-circle")
	document := bytes.Replace(source, []byte("\nversion: 3\n"), []byte("\nversion: 4\n"), 1)
	record, created, err := b.Service.Products.Publish(t.Context(), b.Operator, document)
	require.NoError(t, err)
	require.True(t, created)
	require.Equal(t, int64(4), record.Version)
	read, err := b.Service.Products.Get(t.Context(), b.Acme, "quake-circle")
	require.NoError(t, err)
	require.Equal(t, read, record)
	require.Equal(t, 4, b.Quote("quake-circle", nil).ProductVersion, "at once where it was published")

	_, created, err = b.Service.Products.Publish(t.Context(), b.Operator, document)
	require.NoError(t, err)
	require.False(t, created)
	_, _, err = b.Service.Products.Publish(t.Context(), b.Operator, append(document, '\n'))
	require.Equal(t, apperr.CodeStateConflict, modeltest.DomainError(t, err).Code)
	_, _, err = b.Service.Products.Publish(t.Context(), b.Acme, document)
	require.Equal(t, apperr.CodeInsufficientScope, modeltest.DomainError(t, err).Code)
}

func TestPublishNamesEachFaultOfADocument(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	source := string(shippedDocument(t, "quake-circle"))
	for name, tc := range map[string]struct {
		document string
		want     []string
	}{
		"no document":  {"key: [", []string{"/document"}},
		"too much":     {source + strings.Repeat("#", 256<<10), []string{"/document"}},
		"form":         {strings.NewReplacer("shape: step", "shape: stairs", "\nversion: 3\n", "\nversion: 0\n").Replace(source), []string{"/document/payout/shape", "/document/version"}},
		"sense":        {strings.NewReplacer("code: EUR", "code: USD", "minimum_limit: 100000,", "minimum_limit: 100000000,").Replace(source), []string{"/document/currencies/0", "/document/currencies/1/code", "/document/currencies/2", "/document/settlement/automatic_up_to"}},
		"an example":   {strings.Replace(source, "met: false", "met: true", 1), []string{"/document/examples/0"}},
		"a context":    {strings.Replace(source, "      minimum: 5\n", "", 1), []string{"/document/context"}},
		"broken bytes": {"\xff\x00", []string{"/document"}},
	} {
		_, _, err := b.Service.Products.Publish(t.Context(), b.Operator, []byte(tc.document))
		require.Equal(t, apperr.CodeValidationFailed, modeltest.DomainError(t, err).Code, name)
		require.ElementsMatch(t, tc.want, modeltest.FieldPointers(modeltest.DomainError(t, err)), name)
	}
}

// shippedDocument returns the document of a shipped product.
func shippedDocument(t *testing.T, key string) []byte {
	t.Helper()
	for _, p := range product.Shipped() {
		if p.Key() == key {
			return p.Source()
		}
	}
	t.Fatalf("no product %s", key)
	return nil
}
