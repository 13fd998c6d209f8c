package rest

import (
	"context"
	"net/http"
	"time"

	"parapet/model/hazard"
	"parapet/model/kernel/actor"
	"parapet/model/kernel/apperr"
	"parapet/model/kernel/store"
	"parapet/model/sandbox"
	"parapet/model/wire"
)

// runsPath is where a run of the sandbox is polled.
const runsPath = "/sandbox/runs"

// sandboxRoutes are the routes of rehearsal servers; other servers do not have them.
func (s *server) sandboxRoutes() []route {
	const payout, endpoint = "/sandbox/payouts/{payout_id}/", "/sandbox/webhook_endpoints/{endpoint_id}/bad_signature"
	rows := []route{
		getRoute("/sandbox/clock", actor.ScopeClaimsRead, s.getSandboxClock).
			describedAs("getSandboxClock", "Sandbox", "Read the clock", "The business clock of the server, which all partners share."),
		runRoute("/sandbox/clock", actor.ScopeClaimsWrite, s.moveSandboxClock).orScope(actor.ScopeOperator).withErrorCodes(apperr.CodeStateConflict).
			describedAs("moveSandboxClock", "Sandbox", "Move the clock", "Moves business time forward, to a time or by a duration. The run stops at each instant at which something is due (a quote expires, a claim is reviewed, cover ends), does that work, and goes on. The clock never goes back. It belongs to the server: where several partners share it only operators move it (403 insufficient_scope), unless PARAPET_REHEARSAL_CLOCK is partner. Tokens, rate limits and the timestamps of webhooks stay in real time."),
		runRoute("/sandbox/replays", actor.ScopeClaimsWrite, s.replayEvent).withBodyLimit(4*bodyLimit).
			describedAs("createSandboxReplay", "Sandbox", "Replay an event", "Records a past event again so that it ends now, for your own policies only. Move the clock first when a storm or days are to fall into cover: they happened before now. Each replay is a new occurrence; two replays of an earthquake within a minute are possible duplicates of each other, as in production."),
		actionRoute("/sandbox/reset", actor.ScopeClaimsWrite, http.StatusAccepted, s.resetSandbox).withRunLocation().withErrorCodes(apperr.CodeStateConflict).
			describedAs("resetSandbox", "Sandbox", "End open records", "Ends your open records by ordinary transitions: waiting claims are withdrawn, payouts that were not sent are cancelled, policies are cancelled, quotes expire, and your sandbox observations are retracted. Nothing is deleted; sequences and the clock go on."),
		listRoute(runsPath, actor.ScopeClaimsRead, s.getSandboxRuns).
			describedAs("listSandboxRuns", "Sandbox", "List runs", "Newest first."),
		getRoute(runsPath+"/{run_id}", actor.ScopeClaimsRead, s.getSandboxRun).
			describedAs("getSandboxRun", "Sandbox", "Read a run", "Its progress in percent, and what it has done. The figures of a replay are those of now, also after it is done."),
		actionRoute(endpoint, actor.ScopeWebhooksWrite, http.StatusAccepted, s.sendBadSignature).withRunLocation().withErrorCodes(apperr.CodeStateConflict).
			describedAs("sendBadSignature", "Sandbox", "Send a wrong signature", "Sends an event with a wrong signature to your endpoint, once. A receiver that verifies signatures refuses it; the run says what it answered."),
		getRoute("/sandbox/checklist", actor.ScopeClaimsRead, s.getSandboxChecklist).
			describedAs("getSandboxChecklist", "Sandbox", "Read the checklist", "What your client has shown, each with its first evidence."),
	}
	for _, each := range []struct{ outcome, id, summary, about string }{
		{"settle", "settleSandboxPayout", "Settle a payout", "The simulated rail reports the payment as made: the payout becomes reconciled, and the claim closes when everything is paid."},
		{"return", "returnSandboxPayout", "Return a payout", "The simulated rail reports that the money came back: the payout becomes returned, and another one replaces it."},
		{"mismatch", "mismatchSandboxPayout", "Report another amount", "The simulated rail reports a payment of another amount: the payout is not confirmed, and operators get a reconciliation exception."},
	} {
		rows = append(rows, actionRoute(payout+each.outcome, actor.ScopeClaimsWrite, http.StatusAccepted, func(ctx context.Context, c *requestContext) (*wire.Payout, error) {
			return s.Service.Sandbox.ReportPayout(ctx, c.actor, sandbox.PayoutRequest{PayoutID: c.pathParam("payout_id"), Outcome: sandbox.Outcome(each.outcome)})
		}).orScope(actor.ScopeOperator).withErrorCodes(apperr.CodeStateConflict).
			describedAs(each.id, "Sandbox", each.summary, each.about+" The report is reconciled within seconds, as any report of a rail; the answer is the payout before it. The payout must have been released."))
	}
	for i := range rows {
		rows[i] = rows[i].sandboxOnly()
	}
	return rows
}

// sandboxOnly restricts the route to rehearsal servers.
func (r route) sandboxOnly() route { r.isSandboxOnly = true; return r }

// withRunLocation adds the Location of the run that is started.
func (r route) withRunLocation() route { r.location = runsPath; return r }

// runRoute is a POST that starts a run of the sandbox.
func runRoute[In any](path string, scope actor.Scope, do func(context.Context, *requestContext, In) (*wire.SandboxRun, error)) route {
	r := queryRoute(path, scope, do).withRunLocation()
	r.successStatuses = []int{http.StatusAccepted}
	return r
}

type sandboxClockRequest struct {
	To *time.Time `json:"to,omitzero" doc:"The business time to reach. Give this or by."`
	By *string    `json:"by,omitzero" doc:"How far to go, as an ISO 8601 duration." example:"P30D"`
}

type sandboxReplayRequest struct {
	Event    *string        `json:"event,omitzero" doc:"An event of the shipped history: the USGS id of an earthquake, the id of an Atlantic storm, or a station and a day. With upload, it selects an event of the file." example:"us1000chhc"`
	Upload   *sandboxUpload `json:"upload,omitzero" doc:"A file with one event, instead of the shipped history."`
	Days     *int64         `json:"days,omitzero" minimum:"1" maximum:"366" doc:"At a station: how many days to replay, from the day of event on; 30 when left out."`
	Location *hazard.Point  `json:"location,omitzero" doc:"Moves an earthquake here, or a storm so that its strongest fix is here."`
	Station  *string        `json:"station,omitzero" maxLength:"128" doc:"Moves days to another station."`
}

type sandboxUpload struct {
	Source  string `json:"source" enum:"emsc,ghcn,nhc,usgs" doc:"Whose format the file has: GeoJSON of USGS or EMSC, HURDAT2 of the NHC, CSV of GHCN daily records."`
	Content string `json:"content" doc:"The text of the file, at most 1 MiB."`
}

func (s *server) getSandboxClock(ctx context.Context, c *requestContext) (*wire.SandboxClock, error) {
	return s.Service.Sandbox.GetClock(ctx, c.actor)
}

func (s *server) moveSandboxClock(ctx context.Context, c *requestContext, in sandboxClockRequest) (*wire.SandboxRun, error) {
	return s.Service.Sandbox.MoveClock(ctx, c.actor, sandbox.ClockRequest(in))
}

func (s *server) replayEvent(ctx context.Context, c *requestContext, in sandboxReplayRequest) (*wire.SandboxRun, error) {
	request := sandbox.ReplayRequest{Event: in.Event, Upload: (*sandbox.UploadedFile)(in.Upload), Location: in.Location, Station: in.Station}
	if in.Days != nil {
		request.Days = new(int(*in.Days))
	}
	return s.Service.Sandbox.Replay(ctx, c.actor, request)
}

func (s *server) resetSandbox(ctx context.Context, c *requestContext) (*wire.SandboxRun, error) {
	return s.Service.Sandbox.Reset(ctx, c.actor)
}

func (s *server) getSandboxRuns(ctx context.Context, c *requestContext, page store.PageRequest) (*store.Page[wire.SandboxRun], error) {
	return s.Service.Sandbox.ListRuns(ctx, c.actor, page)
}

func (s *server) getSandboxRun(ctx context.Context, c *requestContext) (*wire.SandboxRun, error) {
	return s.Service.Sandbox.GetRun(ctx, c.actor, c.pathParam("run_id"))
}

func (s *server) sendBadSignature(ctx context.Context, c *requestContext) (*wire.SandboxRun, error) {
	return s.Service.Sandbox.SendBadSignature(ctx, c.actor, c.pathParam("endpoint_id"))
}

func (s *server) getSandboxChecklist(ctx context.Context, c *requestContext) (*wire.SandboxChecklist, error) {
	return s.Service.Sandbox.GetChecklist(ctx, c.actor)
}
