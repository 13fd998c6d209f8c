package signin

import (
	_ "embed"
	"errors"
	"html/template"
	"net/http"
	"time"

	"parapet/internal/gateway"
	"parapet/model/kernel/apperr"
)

//go:embed page.html
var pageText string

var pageTemplate = template.Must(template.New("page").Parse(pageText))

// pageContent is the content of a page.
type pageContent struct {
	Title, Text string
	Who         string
	Until       time.Time
	Links       []Link
	Enter       string // address of a sign-in
	Leave       string // address of the sign-out
}

func renderPage(w http.ResponseWriter, status int, c pageContent) {
	header := w.Header()
	header.Set("Content-Type", "text/html; charset=utf-8")
	header.Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'")
	header.Set("Cache-Control", "no-store")
	header.Set("Referrer-Policy", "no-referrer")
	header.Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	_ = pageTemplate.Execute(w, c) // an error means that the reader has left
}

// renderFailure shows what went wrong; the cause is only logged.
func (u *OperatorUI) renderFailure(w http.ResponseWriter, r *http.Request, status int, text string, cause error) {
	if request := gateway.FromContext(r.Context()); request != nil && cause != nil {
		request.LogCause(cause)
	}
	renderPage(w, status, pageContent{Title: "Not signed in", Text: text, Enter: signInPath})
}

// renderDenial shows a missing permission; any other error is shown without details.
func (u *OperatorUI) renderDenial(w http.ResponseWriter, r *http.Request, err error) {
	var known *apperr.Error
	if !errors.As(err, &known) {
		u.renderFailure(w, r, http.StatusForbidden, "The issuer's answer could not be verified. Sign in again.", err)
		return
	}
	status := http.StatusForbidden
	if known.Code == apperr.CodeUnavailable || known.Code == apperr.CodeRateLimited {
		status = http.StatusServiceUnavailable
	}
	renderPage(w, status, pageContent{Title: "Not for you", Text: known.Detail, Enter: signInPath + "?again"})
}
