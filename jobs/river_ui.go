package jobs

import (
	"log/slog"
	"net/http"

	"riverqueue.com/riverui"
)

// riverUISecurityPolicy lets River's page load its own assets and call this server.
const riverUISecurityPolicy = "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; font-src 'self'; img-src 'self' data:; " +
	"connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// RiverUI is River's own user interface for the job queue.
type RiverUI struct {
	*riverui.Handler
}

// NewRiverUI returns the user interface below address. Its users can retry, cancel and
// delete every job and pause every queue, so it must be behind an operator sign-in. These
// actions cannot lose or repeat a payment: jobs only carry ids; due work lives in tables
// and the sweep re-enqueues it. Start it before serving it.
func (q *Queue) NewRiverUI(address string, log *slog.Logger) (*RiverUI, error) {
	handler, err := riverui.NewHandler(&riverui.HandlerOpts{
		Endpoints: riverui.NewEndpoints(q.client, nil), Logger: slog.New(warningHandler{log.Handler()}), Prefix: address,
	})
	return &RiverUI{handler}, err
}

// ServeHTTP implements http.Handler.
func (c *RiverUI) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	header := w.Header()
	header.Set("Content-Security-Policy", riverUISecurityPolicy)
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("Referrer-Policy", "same-origin")
	c.Handler.ServeHTTP(w, r)
}
