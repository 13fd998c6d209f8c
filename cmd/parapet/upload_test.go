package main

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"parapet/model/claims/adjudication"
	"parapet/model/kernel/store"
	"parapet/model/modeltest"
)

// pendingUpload is a document of 10 MiB that was sent except for its end.
type pendingUpload struct {
	conn net.Conn
	end  string
}

// uploadPath returns the path of the documents of a new claim.
func uploadPath(t *testing.T, b *modeltest.Bundle) string {
	t.Helper()
	claim, _, err := b.Service.Adjudication.Open(t.Context(), b.Acme, adjudication.ClaimRequest{PolicyID: b.QuoteAndBind("quake-circle", nil).ID})
	require.NoError(t, err)
	return "/v1/claims/" + claim.ID + "/attachments"
}

// startUpload sends a document except for its last byte.
func startUpload(t *testing.T, p *serverProcess, token, path string) *pendingUpload {
	t.Helper()
	return startBody(t, p, token, path, `{"file_name":"a.txt","content_type":"text/plain","content_base64":"`+strings.Repeat("QUJD", 10<<20/3)+`"}`)
}

// startBody sends a body except for its last byte.
func startBody(t *testing.T, p *serverProcess, token, path, body string) *pendingUpload {
	t.Helper()
	conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", strings.TrimPrefix(p.base, "http://"))
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	_, err = fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n", path, token, len(body))
	require.NoError(t, err)
	_, err = io.WriteString(conn, body[:len(body)-1])
	require.NoError(t, err)
	return &pendingUpload{conn, body[len(body)-1:]}
}

// finishUpload sends the last byte and returns the status of the response, and its
// Retry-After in seconds.
func (h *pendingUpload) finishUpload(t *testing.T) (status int, retryAfter string) {
	t.Helper()
	_, err := io.WriteString(h.conn, h.end)
	require.NoError(t, err)
	response, err := http.ReadResponse(bufio.NewReader(h.conn), nil)
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	return response.StatusCode, response.Header.Get("Retry-After")
}

// RequireStatus is finish with a response of this status.
func (h *pendingUpload) requireStatus(t *testing.T, status int) {
	t.Helper()
	got, _ := h.finishUpload(t)
	require.Equal(t, status, got)
}

// peakMemory returns the largest memory that a process has used, in bytes.
func (p *serverProcess) peakMemory(t *testing.T) int {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.command.Process.Pid))
	if os.IsNotExist(err) {
		t.Skip("this system does not tell how much memory a process has")
	}
	require.NoError(t, err)
	found := regexp.MustCompile(`VmHWM:\s+(\d+) kB`).FindSubmatch(status)
	require.NotNil(t, found)
	kilobytes, err := strconv.Atoi(string(found[1]))
	require.NoError(t, err)
	return kilobytes << 10
}

// The peak memory of the process includes garbage: with the server's own setting the heap
// may grow by about 50 MB in any case, as much as the limit for all uploads together.
// With GOGC=25 it is a quarter of the live heap.
func TestUploadsUseBoundedMemory(t *testing.T) {
	t.Parallel()
	c := newProcessGroup(t, "PARAPET_UPLOADS_PER_PARTNER=1024", "PARAPET_UPLOADS=1024", "GOGC=25")
	p, path := c.startProcess(t, "parapet"), uploadPath(t, c.Bundle)
	claim := regexp.MustCompile("clm_[^/]+").FindString(path)
	graphQL := `{"query":"mutation($input:AddAttachmentInput!){addAttachment(input:$input){attachment{id}}}","variables":{"input":{"claimId":"` + claim +
		`","fileName":"a.txt","contentType":"text/plain","contentBase64":"` + strings.Repeat("QUJD", 10<<20/3) + `"}}}`
	for _, api := range []struct {
		name   string
		hold   func() *pendingUpload
		status int
	}{
		{"REST", func() *pendingUpload { return startUpload(t, p, c.token, path) }, http.StatusCreated},
		{"GraphQL", func() *pendingUpload { return startBody(t, p, c.token, "/graphql", graphQL) }, http.StatusOK},
	} {
		api.hold().requireStatus(t, api.status)
		before := p.peakMemory(t)
		const many = 24
		var held []*pendingUpload
		for range many {
			held = append(held, api.hold())
		}
		for _, upload := range held {
			upload.requireStatus(t, api.status)
		}
		each := (p.peakMemory(t) - before) / many
		t.Logf("%d KiB of memory an upload over %s", each>>10, api.name)
		require.Less(t, each, 2<<20, api.name)
	}
	page, err := c.Service.Claims.GetAttachments(t.Context(), c.Acme, claim, store.PageRequest{Limit: 100})
	require.NoError(t, err)
	require.Len(t, page.Data, 50)
}

func TestUploadsOfOnePartnerAreBounded(t *testing.T) {
	t.Parallel()
	c := newProcessGroup(t)
	p, path := c.startProcess(t, "parapet"), uploadPath(t, c.Bundle)
	var held []*pendingUpload
	for range 4 { // of 14 MiB each: 64 MiB are allowed
		held = append(held, startUpload(t, p, c.token, path))
	}
	status, retryAfter := startUpload(t, p, c.token, path).finishUpload(t)
	require.Equal(t, http.StatusTooManyRequests, status)
	require.Equal(t, "1", retryAfter)
	for _, upload := range held {
		upload.requireStatus(t, http.StatusCreated)
	}
	startUpload(t, p, c.token, path).requireStatus(t, http.StatusCreated)
}
