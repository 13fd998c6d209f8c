package sources

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/uptrace/bun"

	"parapet/model/audit"
	"parapet/model/hazard"
	"parapet/model/hazard/trigger"
	"parapet/model/kernel/actor"
	"parapet/model/kernel/apperr"
	"parapet/model/kernel/store"
	"parapet/model/wire"
)

// SourceRow is a registered source; Name is its permanent name.
type SourceRow struct {
	bun.BaseModel `bun:"table:sources,alias:s"`

	Name          string   `bun:",pk"`
	Perils        []string `bun:",array"`
	Stages        []string `bun:",array"`
	TokenSubjects []string `bun:",array"`
	Enabled       bool
	Version       int64
	CreatedAt     time.Time
	UpdatedAt     time.Time
}

// NamePattern matches the name of a source.
var NamePattern = regexp.MustCompile(`^[a-z0-9][a-z0-9._-]{0,62}$`)

// These constants bound a registration.
const (
	maxTokenSubjects = 20
	maxSubject       = 255 // characters
)

// Request registers a source or changes its registration. A member that is nil keeps its
// value, or has its default when the source is new.
type Request struct {
	Name          string          // immutable
	Perils        []hazard.Peril  // what its observations may measure; always given
	Stages        []trigger.Stage // by default preliminary and final
	TokenSubjects []string        // whose tokens may report for it; empty, the default, for every token that names it
	Enabled       *bool           // by default true
}

func (in *Request) validate() []apperr.FieldError {
	v := apperr.Validator{}
	v.Require(NamePattern.MatchString(in.Name), "/name", "pattern", "Use the source's name: 1 to 63 lower-case letters, digits, dots, hyphens and underscores, beginning with a letter or digit.")
	v.Require(len(in.Perils) > 0, "/perils", "required", "Name at least one of "+trigger.PerilNames()+".")
	for i, peril := range in.Perils {
		v.Require(slices.Contains(trigger.Perils(), peril), apperr.JSONPointer("perils", strconv.Itoa(i)), "enum", "Use "+trigger.PerilNames()+".")
	}
	v.Require(in.Stages == nil || len(in.Stages) > 0, "/stages", "required", "Name at least one of preliminary, final.")
	for i, stage := range in.Stages {
		v.Require(stage == trigger.Preliminary || stage == trigger.Final, apperr.JSONPointer("stages", strconv.Itoa(i)), "enum", "Use preliminary or final; every source may retract.")
	}
	v.Require(len(in.TokenSubjects) <= maxTokenSubjects, "/token_subjects", "length", fmt.Sprintf("Use at most %d subjects.", maxTokenSubjects))
	for i, subject := range in.TokenSubjects[:min(len(in.TokenSubjects), maxTokenSubjects)] {
		v.Require(subject != "" && len(subject) <= maxSubject && audit.IsStorableText(subject), apperr.JSONPointer("token_subjects", strconv.Itoa(i)), "length", fmt.Sprintf("Use the claim sub of a token, 1 to %d characters.", maxSubject))
	}
	return v.FieldErrors
}

// Register registers a source, or changes the registration of its name: perils are
// replaced, and the other members where the request gives them. An unchanged registration
// changes nothing. A disabled source keeps its observations and may report
// no new ones. Operators only. Errors: validation_failed.
func (s *Service) Register(ctx context.Context, caller actor.Actor, in Request) (source *wire.Source, err error) {
	if err := s.Authorize(ctx, caller, actor.ScopeOperator); err != nil {
		return nil, err
	}
	if fields := in.validate(); len(fields) > 0 {
		return nil, apperr.Invalid(fields...)
	}
	err = s.InTx(ctx, caller, func(ctx context.Context, tx *store.Tx) error {
		row := in.toRow(tx.Now)
		if err := in.upsert(ctx, tx, row); err != nil {
			return err
		}
		if err := tx.NewSelect().Model(row).WherePK().Scan(ctx); err != nil {
			return fmt.Errorf("read source: %w", err)
		}
		health, err := s.loadHealth(ctx, tx, caller, []string{row.Name}, tx.Now)
		if err != nil {
			return err
		}
		source = row.toRecord(caller, health[row.Name], tx.Now)
		return tx.StoreResponse(store.StatusOK, source.ID, source)
	})
	return source, err
}

// upsert writes the registration; members that are not given keep their values.
func (in *Request) upsert(ctx context.Context, tx *store.Tx, row *SourceRow) error {
	query := tx.NewInsert().Model(row).On("conflict (name) do update").Set("perils = excluded.perils").
		Set("version = s.version + 1").Set("updated_at = greatest(excluded.updated_at, s.updated_at)")
	changes := []string{"s.perils is distinct from excluded.perils"}
	for column, given := range map[string]bool{"stages": in.Stages != nil, "token_subjects": in.TokenSubjects != nil, "enabled": in.Enabled != nil} {
		if given {
			query.Set("? = excluded.?", bun.Ident(column), bun.Ident(column))
			changes = append(changes, "s."+column+" is distinct from excluded."+column)
		}
	}
	if _, err := query.Where(strings.Join(changes, " or ")).Returning("null").Exec(ctx); err != nil {
		return fmt.Errorf("register source: %w", err)
	}
	return nil
}

// toRow returns the registration with its lists in one order, without repeats, and with
// the defaults of a new source.
func (in *Request) toRow(now time.Time) *SourceRow {
	row := &SourceRow{Name: in.Name, Enabled: in.Enabled == nil || *in.Enabled, Version: 1, CreatedAt: now, UpdatedAt: now}
	for _, peril := range trigger.Perils() {
		if slices.Contains(in.Perils, peril) {
			row.Perils = append(row.Perils, string(peril))
		}
	}
	for _, stage := range []trigger.Stage{trigger.Preliminary, trigger.Final} {
		if in.Stages == nil || slices.Contains(in.Stages, stage) {
			row.Stages = append(row.Stages, string(stage))
		}
	}
	row.TokenSubjects = slices.Compact(slices.Sorted(slices.Values(in.TokenSubjects)))
	if row.TokenSubjects == nil {
		row.TokenSubjects = []string{}
	}
	return row
}

// Get returns one source with its health. Errors: not_found.
func (s *Service) Get(ctx context.Context, caller actor.Actor, name string) (*wire.Source, error) {
	none := apperr.Fail(apperr.CodeNotFound, "There is no source with this name.")
	if err := s.Authorize(ctx, caller, actor.ScopePoliciesRead); err != nil {
		return nil, err
	}
	if !NamePattern.MatchString(name) { // Postgres rejects some texts, such as invalid UTF-8
		return nil, none
	}
	row := &SourceRow{Name: name}
	err := s.DB.NewSelect().Model(row).WherePK().Scan(ctx)
	if store.IsNoRows(err) {
		return nil, none
	}
	if err != nil {
		return nil, store.TranslateError(fmt.Errorf("read source: %w", err))
	}
	records, err := s.toRecords(ctx, caller, []SourceRow{*row})
	if err != nil {
		return nil, err
	}
	return &records[0], nil
}

// List lists the registered sources with their health, ordered by name. Errors:
// cursor_invalid.
func (s *Service) List(ctx context.Context, caller actor.Actor, in store.PageRequest) (*store.Page[wire.Source], error) {
	if err := s.Authorize(ctx, caller, actor.ScopePoliciesRead); err != nil {
		return nil, err
	}
	p, err := s.ParsePage(caller, in, "sources", store.SortOldestFirst)
	if err != nil {
		return nil, err
	}
	p.Count = s.NewCounter(s.DB.NewSelect().Model((*SourceRow)(nil)).ColumnExpr("1"))
	var rows []SourceRow
	err = s.DB.NewSelect().Model(&rows).Where("s.name > ?", p.After).OrderExpr("s.name").Limit(p.FetchLimit()).Scan(ctx)
	if err != nil {
		return nil, store.TranslateError(fmt.Errorf("list sources: %w", err))
	}
	records, err := s.toRecords(ctx, caller, rows)
	if err != nil {
		return nil, err
	}
	return store.NewPage(p, records, func(r *wire.Source) string { return r.Name }, func(r *wire.Source) wire.Source { return *r })
}

func (s *Service) toRecords(ctx context.Context, caller actor.Actor, rows []SourceRow) ([]wire.Source, error) {
	now, err := s.ReadClock(ctx)
	if err != nil {
		return nil, store.TranslateError(fmt.Errorf("read clock: %w", err))
	}
	names := make([]string, len(rows))
	for i, row := range rows {
		names[i] = row.Name
	}
	health, err := s.loadHealth(ctx, s.DB, caller, names, now)
	if err != nil {
		return nil, err
	}
	records := make([]wire.Source, len(rows))
	for i := range rows {
		records[i] = *rows[i].toRecord(caller, health[rows[i].Name], now)
	}
	return records, nil
}

// joinNames lists names in a sentence.
func joinNames(names []string) string { return strings.Join(names, ", ") }
