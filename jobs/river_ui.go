package jobs

import (
	"log/slog"
	"net/http"

	"riverqueue.com/riverui"
)

// riverUISecurityPolicy lets River's page load its own assets and call this server.
const riverUISecurityPolicy = "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; font-src 'self'; img-src 'self' data:; " +
	"connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// RiverUI is River's own user interface for the job queue, to look at: actions on jobs need
// a reason and are mutations of GraphQL.
type RiverUI struct {
	*riverui.Handler
}

// NewRiverUI returns the user interface below address. It must be behind an operator
// sign-in. Start it before serving it.
func (q *Queue) NewRiverUI(address string, log *slog.Logger) (*RiverUI, error) {
	handler, err := riverui.NewHandler(&riverui.HandlerOpts{
		Endpoints: riverui.NewEndpoints(q.client, nil), Logger: slog.New(warningHandler{log.Handler()}), Prefix: address,
	})
	return &RiverUI{handler}, err
}

// ServeHTTP implements http.Handler.
func (c *RiverUI) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	header := w.Header()
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		header.Set("Allow", "GET, HEAD")
		http.Error(w, "These pages only show jobs. Retry, cancel and pause them at /console/jobs, in GraphQL or with parapet ops: each action needs a reason.", http.StatusMethodNotAllowed)
		return
	}
	header.Set("Content-Security-Policy", riverUISecurityPolicy)
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("Referrer-Policy", "same-origin")
	c.Handler.ServeHTTP(w, r)
}
