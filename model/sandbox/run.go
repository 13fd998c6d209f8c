package sandbox

import (
	"context"
	"fmt"
	"slices"

	"github.com/uptrace/bun"

	"parapet/model/insight/progress"
	"parapet/model/kernel/actor"
	"parapet/model/kernel/apperr"
	"parapet/model/kernel/store"
	"parapet/model/wire"
)

// Kind is what a run does.
type Kind string

// The kinds of runs.
const (
	KindClock  Kind = "clock"
	KindReplay Kind = "replay"
	KindReset  Kind = "reset"
	// KindSignature sends an event with a wrong signature.
	KindSignature Kind = "signature"
)

// Status is the state of a run.
type Status string

// The states of a run.
const (
	Running Status = "running"
	Done    Status = "done"
	Failed  Status = "failed"
)

// Run is work that the sandbox does in the background.
type Run struct {
	bun.BaseModel `bun:"table:sandbox_runs,alias:sr"`
	store.RowHeader

	Kind     Kind
	Status   Status
	Progress int     // percent
	Request  Request `bun:"type:json"`
	Upload   *string // file of a replay
	Result   Result  `bun:"type:json"`
	Error    *string
}

// Request is what was asked for. Clock runs and resets need nothing but their Result.
type Request struct {
	Replay *ReplayRequest `json:"replay,omitzero"`
}

// Result is what a run has done so far. The pointer of the run's kind is set.
type Result struct {
	Clock  *wire.SandboxClockRun `json:"clock,omitzero"`
	Replay *wire.SandboxReplay   `json:"replay,omitzero"`
	Reset  *wire.SandboxReset    `json:"reset,omitzero"`

	Signature *wire.SandboxSignature `json:"signature,omitzero"`
}

// Actor is the partner of a run, with the scopes that the run needs.
func (r *Run) Actor() actor.Actor {
	return actor.Actor{Kind: actor.KindPartner, Partner: r.Partner, Name: "sandbox", Scopes: []actor.Scope{actor.ScopeClaimsWrite, actor.ScopeClaimsRead}}
}

// ID returns the public id.
func (r *Run) ID() string { return store.ResourceSandboxRun.FormatID(r.RowHeader.ID) }

func (r *Run) toRecord() wire.SandboxRun {
	record := wire.SandboxRun{
		Header: r.ToHeader(store.ResourceSandboxRun), Kind: string(r.Kind), Status: string(r.Status), Progress: r.Progress, Error: r.Error,
		Clock: r.Result.Clock, Replay: r.Result.Replay, Reset: r.Result.Reset, Signature: r.Result.Signature,
	}
	if r.Partner == "" {
		record.Partner = nil
	}
	return record
}

var runs = &store.Collection[Run, wire.SandboxRun]{
	Resource: store.ResourceSandboxRun, Plural: "sandbox_runs", RequiredScope: store.FixedScope(actor.ScopeClaimsRead), ToRecord: (*Run).toRecord,
}

// GetRun returns a run. A partner sees its own runs, an operator all. Errors: not_found.
func (s *Service) GetRun(ctx context.Context, caller actor.Actor, id string) (*wire.SandboxRun, error) {
	if err := s.authorize(ctx, caller, actor.ScopeClaimsRead); err != nil {
		return nil, err
	}
	record, err := runs.Get(ctx, s.Store, caller, id)
	if err != nil {
		return nil, err
	}
	return record, s.addProgress(ctx, caller, record)
}

// ListRuns returns the runs that the caller may see, newest first. Errors: cursor_invalid.
func (s *Service) ListRuns(ctx context.Context, caller actor.Actor, page store.PageRequest) (*store.Page[wire.SandboxRun], error) {
	if err := s.authorize(ctx, caller, actor.ScopeClaimsRead); err != nil {
		return nil, err
	}
	list, err := runs.List(ctx, s.Store, caller, store.Filter{}, page)
	if err != nil {
		return nil, err
	}
	records := make([]*wire.SandboxRun, len(list.Data))
	for i := range list.Data {
		records[i] = &list.Data[i]
	}
	return list, s.addProgress(ctx, caller, records...)
}

// addProgress adds to replays what their occurrences have caused until now.
func (s *Service) addProgress(ctx context.Context, caller actor.Actor, records ...*wire.SandboxRun) error {
	var ids []string
	for _, record := range records {
		if record.Replay != nil {
			ids = append(ids, record.Replay.OccurrenceIDs...)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	found, err := progress.Load(ctx, s.Store, caller, ids)
	if err != nil {
		return err
	}
	for _, record := range records {
		if record.Replay == nil {
			continue
		}
		for _, id := range record.Replay.OccurrenceIDs {
			if found[id] != nil {
				addOccurrence(record.Replay, found[id])
			}
		}
	}
	return nil
}

// addOccurrence adds the figures of an occurrence to a replay, by currency.
func addOccurrence(to *wire.SandboxReplay, of *wire.OccurrenceProgress) {
	to.Candidates += of.Candidates
	to.ClaimsOpened += of.ClaimsOpened
	for _, line := range of.Lines {
		at := slices.IndexFunc(to.Lines, func(l wire.ProgressLine) bool { return l.Currency == line.Currency && l.Partner == line.Partner })
		if at < 0 {
			to.Lines = append(to.Lines, line)
			continue
		}
		sum := &to.Lines[at]
		sum.Candidates, sum.Decided, sum.ClaimsOpened = sum.Candidates+line.Candidates, sum.Decided+line.Decided, sum.ClaimsOpened+line.ClaimsOpened
		sum.Owed.Amount += line.Owed.Amount
		sum.Pending.Amount += line.Pending.Amount
		sum.Blocked.Amount += line.Blocked.Amount
		sum.Released.Amount += line.Released.Amount
	}
}

// start inserts a run, which package jobs begins within a second. Errors: state_conflict
// while a run is at work that allows no second one.
func (s *Service) start(ctx context.Context, caller actor.Actor, newRun func(context.Context, *store.Tx) (*Run, error)) (*wire.SandboxRun, error) {
	var record *wire.SandboxRun
	err := s.InTx(ctx, caller, func(ctx context.Context, tx *store.Tx) error {
		row, err := newRun(ctx, tx)
		if err != nil {
			return err
		}
		row.RowHeader, row.Status = tx.NewHeader(caller.Partner), Running
		done, err := tx.NewInsert().Model(row).On("conflict do nothing").Exec(ctx)
		if err != nil {
			return fmt.Errorf("insert run: %w", err)
		}
		if n, err := done.RowsAffected(); err != nil || n == 0 {
			return orConflict(err, "A run of this kind is at work; wait until its status is done.")
		}
		record = new(row.toRecord())
		return tx.StoreResponse(store.StatusAccepted, record.ID, record)
	})
	return record, err
}

// ListRunning returns the runs that have work left, the oldest first. System only.
func (s *Service) ListRunning(ctx context.Context) ([]*Run, error) {
	var rows []*Run
	err := s.DB.NewSelect().Model(&rows).Where("sr.status = ?", Running).OrderExpr("sr.id").Scan(ctx)
	return rows, store.TranslateError(err)
}

// SaveRun saves what a run has done. System only. Errors: version_mismatch when another
// process has saved it meanwhile.
func (s *Service) SaveRun(ctx context.Context, run *Run) error {
	return s.InTx(ctx, actor.System(), func(ctx context.Context, tx *store.Tx) error { return saveRun(ctx, tx, run) })
}

func saveRun(ctx context.Context, tx *store.Tx, run *Run) error {
	return tx.SaveColumns(ctx, run, "status", "progress", "result", "error")
}

// orConflict returns an error of the database, or state_conflict.
func orConflict(err error, detail string) error {
	if err != nil {
		return err
	}
	return apperr.Fail(apperr.CodeStateConflict, "%s", detail)
}
