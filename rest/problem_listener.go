package rest

import (
	"bytes"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"parapet/model/kernel/apperr"
	"parapet/model/wire"
)

// ProblemListener makes a server's connections answer with problem documents where
// net/http itself answers before a handler sees the request. net/http has no hook for
// these responses, but each is a single write in a known form. No input is answered with
// 5xx.
func ProblemListener(listener net.Listener) net.Listener { return problemListener{listener} }

type problemListener struct{ net.Listener }

// Accept implements net.Listener.
func (l problemListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if tcp, ok := conn.(*net.TCPConn); ok {
		return problemConn{tcp}, nil
	}
	return conn, err
}

// problemConn keeps the methods of TCP connections that net/http uses.
type problemConn struct{ *net.TCPConn }

// rawErrorHeaders are the complete headers of net/http's response to an unreadable
// request; rawExpectationStatus begins its response to an expectation other than
// 100-continue. Handlers write neither.
const (
	rawErrorHeaders      = "\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n\r\n"
	rawExpectationStatus = "HTTP/1.1 417 "
	maxRawError          = 1 << 10
	statusLinePrefix     = "HTTP/1.1 "
)

// Write implements net.Conn.
func (c problemConn) Write(p []byte) (int, error) {
	if len(p) > maxRawError || !bytes.HasPrefix(p, []byte(statusLinePrefix)) {
		return c.TCPConn.Write(p)
	}
	line, headers, _ := bytes.Cut(p, []byte("\r\n"))
	if !bytes.HasPrefix(p, []byte(rawExpectationStatus)) && !bytes.HasPrefix(headers, []byte(rawErrorHeaders[2:])) {
		return c.TCPConn.Write(p)
	}
	status, text, _ := strings.Cut(strings.TrimPrefix(string(line), statusLinePrefix), " ")
	if _, err := c.TCPConn.Write(rawProblem(status, text)); err != nil {
		return 0, err
	}
	return len(p), nil
}

// rawProblem returns the response to a request that net/http could not read, from the
// status and text of net/http's response.
func rawProblem(own, text string) []byte {
	status, detail := http.StatusBadRequest, "Its request line or a header cannot be read: send HTTP/1.1 as RFC 9112 has it."
	switch own {
	case "417":
		status, detail = http.StatusExpectationFailed, "The only supported expectation is 100-continue: send no other Expect header."
	case "431":
		status, detail = http.StatusRequestHeaderFieldsTooLarge, "The request line and the headers are too long: send fewer or shorter headers, 64 KiB at most."
	case "501":
		detail = "The only supported transfer encoding is chunked: send the body in chunks, or with its Content-Length."
	case "505":
		detail = "Use HTTP/1.1."
	default:
		if _, cause, named := strings.Cut(text, ": "); named {
			detail = fmt.Sprintf("The request is not HTTP/1.1: %s.", cause)
		}
	}
	c := &requestContext{instance: "/", requestID: uuid.Must(uuid.NewV7()).String()}
	document := c.newProblem(&apperr.Error{Code: apperr.CodeParameterInvalid, Detail: detail})
	document.Status = status
	body, err := wire.Encode(document)
	if err != nil {
		body = nil // impossible: the document contains only text
	}
	var answer bytes.Buffer
	fmt.Fprintf(&answer, "HTTP/1.1 %d %s\r\n", status, http.StatusText(status))
	for _, header := range [][2]string{
		{"Content-Type", problemType},
		{"Content-Length", strconv.Itoa(len(body))},
		{"X-Request-Id", c.requestID},
		{"X-Content-Type-Options", "nosniff"},
		{"Cache-Control", "no-store"},
		{"Connection", "close"},
	} {
		fmt.Fprintf(&answer, "%s: %s\r\n", header[0], header[1])
	}
	answer.WriteString("\r\n")
	answer.Write(body)
	return answer.Bytes()
}
