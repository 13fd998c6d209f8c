package main

import (
	"context"
	"encoding/csv"
	"net/http"
	"strconv"
	"strings"
	"time"

	"parapet/internal/signin"
	"parapet/model/audit"
	"parapet/model/kernel/store"
)

// auditFlushInterval is the longest delay of a denial in the audit log.
const auditFlushInterval = time.Minute

// saveRefusals saves denials to the audit log until ctx ends, and then once more.
func (a *app) saveRefusals(ctx context.Context) error {
	tick := time.NewTicker(auditFlushInterval)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			last, cancel := context.WithTimeout(context.WithoutCancel(ctx), drainTimeout)
			defer cancel()
			return a.service.Audit.SaveRefusals(last)
		}
		if err := a.service.Audit.SaveRefusals(ctx); err != nil {
			a.log.WarnContext(ctx, "could not save refusals", "error", err)
		}
	}
}

// callFlushInterval is the longest delay of a call in the log of developers.
const callFlushInterval = time.Second

// saveCalls saves the calls of partners until ctx ends, and then once more.
func (a *app) saveCalls(ctx context.Context) error {
	tick := time.NewTicker(callFlushInterval)
	defer tick.Stop()
	for {
		ended := false
		select {
		case <-tick.C:
		case <-ctx.Done():
			ended = true
		}
		saving, cancel := context.WithTimeout(context.WithoutCancel(ctx), drainTimeout)
		dropped, err := a.service.Audit.SaveCalls(saving)
		cancel()
		if dropped > 0 || err != nil {
			a.log.WarnContext(ctx, "calls of partners are missing in the log of developers", "calls", dropped, "error", err)
		}
		if ended {
			return nil
		}
	}
}

// auditCSV writes the whole audit log, page by page.
func (a *app) auditCSV(w http.ResponseWriter, r *http.Request) {
	who, _ := signin.Operator(r.Context())
	page, err := a.service.Audit.List(r.Context(), who, audit.Filter{}, store.PageRequest{Limit: store.MaxPageSize})
	if err != nil {
		a.log.ErrorContext(r.Context(), "could not read the audit log", "error", err)
		http.Error(w, "The audit log cannot be read now.", http.StatusServiceUnavailable)
		return
	}
	w.Header().Set("Content-Type", "text/csv; charset=utf-8")
	w.Header().Set("Content-Disposition", `attachment; filename="audit.csv"`)
	table := csv.NewWriter(w)
	_ = table.Write([]string{"id", "at", "outcome", "operation", "actor_kind", "actor", "issuer", "client", "partner", "subject", "reason", "code", "request_id", "times"})
	for err == nil {
		for i := range page.Data {
			_ = table.Write(auditCSVRow(&page.Data[i]))
		}
		table.Flush()
		if !page.HasMore || table.Error() != nil {
			return
		}
		page, err = a.service.Audit.List(r.Context(), who, audit.Filter{}, store.PageRequest{Limit: store.MaxPageSize, Cursor: *page.NextCursor})
	}
	a.log.ErrorContext(r.Context(), "could not read the audit log", "error", err)
	panic(http.ErrAbortHandler) // a partial log must not look complete
}

// auditCSVRow returns one row. It escapes caller-supplied text that a spreadsheet would
// run as a formula.
func auditCSVRow(e *audit.Entry) []string {
	line := []string{e.ID, e.At.Format(time.RFC3339Nano), e.Outcome, e.Operation}
	for _, text := range []*string{e.ActorKind, &e.Actor, e.Issuer, &e.Client, e.Partner, e.Subject, e.Reason, e.Code, e.RequestID} {
		cell := ""
		if text != nil {
			cell = *text
		}
		if strings.ContainsAny(cell[:min(1, len(cell))], "=+-@\t\r") {
			cell = "'" + cell
		}
		line = append(line, cell)
	}
	return append(line, strconv.FormatInt(e.Times, 10))
}
