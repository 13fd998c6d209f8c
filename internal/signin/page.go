package signin

import (
	_ "embed"
	"errors"
	"html/template"
	"net/http"
	"time"

	"parapet/internal/gateway"
	"parapet/model"
)

//go:embed page.html
var pageText string

var pageTemplate = template.Must(template.New("page").Parse(pageText))

// pageContent is what a page says.
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
	_ = pageTemplate.Execute(w, c) // a reader that has gone needs no page
}

// renderFailure says what went wrong; the cause is the log's.
func (u *OperatorUI) renderFailure(w http.ResponseWriter, r *http.Request, status int, text string, cause error) {
	if request := gateway.FromContext(r.Context()); request != nil && cause != nil {
		request.LogCause(cause)
	}
	renderPage(w, status, pageContent{Title: "Not signed in", Text: text, Enter: signInPath})
}

// renderDenial tells who may not be here; whatever else failed is told as little as may
// be.
func (u *OperatorUI) renderDenial(w http.ResponseWriter, r *http.Request, err error) {
	var known *model.Error
	if !errors.As(err, &known) {
		u.renderFailure(w, r, http.StatusForbidden, "The issuer's answer could not be verified. Sign in again.", err)
		return
	}
	status := http.StatusForbidden
	if known.Code == model.CodeUnavailable || known.Code == model.CodeRateLimited {
		status = http.StatusServiceUnavailable
	}
	renderPage(w, status, pageContent{Title: "Not for you", Text: known.Detail, Enter: signInPath + "?again"})
}
