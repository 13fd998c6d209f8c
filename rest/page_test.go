package rest_test

import (
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var reference = regexp.MustCompile(`(?:src|href)="([^"]+)"`)

// Everything the page needs comes from this server, and the page may ask nobody
// else.
func TestDocsPageIsWhole(t *testing.T) {
	t.Parallel()
	door := open(t, nil)
	page := request{"GET", "/docs", "", []string{"Authorization: "}}.to(t, door)
	require.Equal(t, http.StatusOK, page.StatusCode)
	require.Contains(t, page.Header.Get("Content-Security-Policy"), "default-src 'none'")
	found := reference.FindAllStringSubmatch(string(page.Body), -1)
	require.GreaterOrEqual(t, len(found), 4)
	for _, match := range found {
		if strings.HasPrefix(match[1], "data:") {
			continue
		}
		response := request{"GET", match[1], "", []string{"Authorization: "}}.to(t, door)
		require.Equal(t, http.StatusOK, response.StatusCode, match[1])
		require.Less(t, len(response.Body), 4<<20)
		again := request{"GET", match[1], "", []string{"If-None-Match: " + response.Header.Get("ETag")}}.to(t, door)
		require.Equal(t, http.StatusNotModified, again.StatusCode, match[1])
	}
}
