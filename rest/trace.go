package rest

import (
	"crypto/rand"
	"encoding/hex"
	"net/http"
	"strings"
)

// trace is this request's place in a trace, as W3C Trace Context 1 writes it.
type trace struct {
	id    string // 32 hexadecimal digits, the same for everything one request caused
	span  string // 16, ours
	flags string // 2, the caller's choice whether to record
}

// String is the traceparent header.
func (t trace) String() string { return "00-" + t.id + "-" + t.span + "-" + t.flags }

// traceOf continues the caller's trace, or begins one where there is none that
// can be read: a broken header must not cost anybody an answer.
func traceOf(r *http.Request) trace {
	var random [24]byte
	_, _ = rand.Read(random[:]) // never fails
	fresh := hex.EncodeToString(random[:])
	t := trace{id: fresh[:32], span: fresh[32:], flags: "00"}
	given := r.Header.Values("Traceparent")
	if len(given) != 1 {
		return t
	}
	parts := strings.Split(given[0], "-")
	if len(parts) < 4 || !digits(parts[0], 2) || parts[0] == "ff" || parts[0] == "00" && len(parts) != 4 ||
		!digits(parts[1], 32) || !digits(parts[2], 16) || !digits(parts[3], 2) ||
		strings.Trim(parts[1], "0") == "" || strings.Trim(parts[2], "0") == "" {
		return t
	}
	t.id = parts[1]
	if strings.ContainsRune("13579bdf", rune(parts[3][1])) { // of the flags, sampled is the one that is defined
		t.flags = "01"
	}
	return t
}

// digits tells whether s is n lower-case hexadecimal digits.
func digits(s string, n int) bool {
	return len(s) == n && strings.Trim(s, "0123456789abcdef") == ""
}
