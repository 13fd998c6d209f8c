package signin

import (
	_ "embed"
	"errors"
	"html/template"
	"net/http"
	"time"

	"parapet/internal/visit"
	"parapet/model"
)

//go:embed page.html
var pageText string

var page = template.Must(template.New("page").Parse(pageText))

// content is what a page says.
type content struct {
	Title, Text string
	Who         string
	Until       time.Time
	Links       []Link
	Enter       string // address of a sign-in
	Leave       string // address of the sign-out
}

func show(w http.ResponseWriter, status int, c content) {
	header := w.Header()
	header.Set("Content-Type", "text/html; charset=utf-8")
	header.Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'")
	header.Set("Cache-Control", "no-store")
	header.Set("Referrer-Policy", "no-referrer")
	header.Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	_ = page.Execute(w, c) // a reader that has gone needs no page
}

// fail says what went wrong; the cause is the log's.
func (d *Desk) fail(w http.ResponseWriter, r *http.Request, status int, text string, cause error) {
	if v := visit.From(r.Context()); v != nil && cause != nil {
		v.Blame(cause)
	}
	show(w, status, content{Title: "Not signed in", Text: text, Enter: enterPath})
}

// refuse tells who may not be here; whatever else failed is told as little as may
// be.
func (d *Desk) refuse(w http.ResponseWriter, r *http.Request, err error) {
	var known *model.Error
	if !errors.As(err, &known) {
		d.fail(w, r, http.StatusForbidden, "The issuer's answer could not be verified. Sign in again.", err)
		return
	}
	status := http.StatusForbidden
	if known.Code == model.CodeUnavailable || known.Code == model.CodeRateLimited {
		status = http.StatusServiceUnavailable
	}
	show(w, status, content{Title: "Not for you", Text: known.Detail, Enter: enterPath + "?again"})
}
