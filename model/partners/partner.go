package partners

import (
	"context"
	"fmt"
	"regexp"
	"time"

	"github.com/uptrace/bun"

	"parapet/model/audit"
	"parapet/model/kernel/actor"
	"parapet/model/kernel/apperr"
	"parapet/model/kernel/store"
	"parapet/model/wire"
)

// Status is the status of a partner.
type Status string

const (
	// PartnerEnabled partners may use the service.
	PartnerEnabled Status = "enabled"
	// PartnerDisabled partners get partner_disabled for each request.
	PartnerDisabled Status = "disabled"
)

// PartnerRow is a partner; Slug is its permanent name.
type PartnerRow struct {
	bun.BaseModel `bun:"table:partners,alias:pa"`

	Slug      string `bun:",pk"`
	Name      string
	Status    Status
	Terms     wire.PartnerTerms `bun:"type:jsonb"`
	Version   int64
	CreatedAt time.Time
	UpdatedAt time.Time
}

// SlugPattern matches the slug of a partner.
var SlugPattern = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,62}$`)

// maxPartnerName bounds a partner's name, in characters.
const maxPartnerName = 200

// Request registers a partner.
type Request struct {
	Slug string // immutable; the partner claim of the partner's tokens
	Name string
}

func (in *Request) validate() []apperr.FieldError {
	v := apperr.Validator{}
	v.Require(SlugPattern.MatchString(in.Slug), "/slug", "pattern", "Use 1 to 63 lower-case letters, digits and hyphens, not beginning with a hyphen.")
	v.Require(isOneLine(in.Name), "/name", "length", fmt.Sprintf("Use 1 to %d characters on one line, without white space at the ends.", maxPartnerName))
	return v.FieldErrors
}

// Register registers a partner under an immutable slug. If the slug already has
// this name, it changes nothing and created is false. Operators only. Errors:
// validation_failed, state_conflict when the slug has another name.
func (s *Service) Register(ctx context.Context, caller actor.Actor, in Request) (partner *wire.Partner, created bool, err error) {
	if err := s.Authorize(ctx, caller, actor.ScopeOperator); err != nil {
		return nil, false, err
	}
	if fields := in.validate(); len(fields) > 0 {
		return nil, false, apperr.Invalid(fields...)
	}
	err = s.InTx(ctx, caller, func(ctx context.Context, tx *store.Tx) error {
		row := &PartnerRow{Slug: in.Slug, Name: in.Name, Status: PartnerEnabled, Version: 1, CreatedAt: tx.Now, UpdatedAt: tx.Now}
		if created, err = registerPartner(ctx, tx, row); err != nil {
			return err
		}
		status := store.StatusOK
		if created {
			status = store.StatusCreated
		}
		partner = row.toRecord()
		return tx.StoreResponse(status, partner.ID, partner)
	})
	store.Local[partnerCache](s.Store).invalidate(in.Slug)
	return partner, created, err
}

// registerPartner inserts the row, or reads the existing one. It reports whether it
// inserted.
func registerPartner(ctx context.Context, tx *store.Tx, row *PartnerRow) (bool, error) {
	name := row.Name
	res, err := tx.NewInsert().Model(row).On("conflict do nothing").Exec(ctx)
	if err != nil {
		return false, fmt.Errorf("register partner: %w", err)
	}
	if n, err := res.RowsAffected(); err != nil || n == 1 {
		audit.RecordOperatorAction(tx, audit.OperatorActionRow{Operation: audit.OperationRegisterPartner, Partner: row.Slug})
		return true, err
	}
	if err := tx.NewSelect().Model(row).WherePK().Scan(ctx); err != nil {
		return false, fmt.Errorf("read partner: %w", err)
	}
	if row.Name != name {
		return false, apperr.Fail(apperr.CodeStateConflict, "The slug %s belongs to %q; choose another one.", row.Slug, row.Name)
	}
	return false, nil
}

// StatusRequest enables or disables a partner.
type StatusRequest struct {
	Slug   string
	Reason string // private
}

// Disable refuses each request of the partner, on every node within seconds. Its
// policies stay in force, and their claims are paid. Disabling a disabled partner
// changes nothing. Operators only. Errors: not_found, validation_failed.
func (s *Service) Disable(ctx context.Context, actor actor.Actor, in StatusRequest) (*wire.Partner, error) {
	return s.setPartnerStatus(ctx, actor, in, PartnerDisabled, audit.OperationDisablePartner)
}

// Enable enables a disabled partner. Enabling an enabled partner changes
// nothing. Operators only. Errors: not_found, validation_failed.
func (s *Service) Enable(ctx context.Context, actor actor.Actor, in StatusRequest) (*wire.Partner, error) {
	return s.setPartnerStatus(ctx, actor, in, PartnerEnabled, audit.OperationEnablePartner)
}

func (s *Service) setPartnerStatus(ctx context.Context, caller actor.Actor, in StatusRequest, to Status, operation audit.Operation) (*wire.Partner, error) {
	if err := s.Authorize(ctx, caller, actor.ScopeOperator); err != nil {
		return nil, err
	}
	v := apperr.Validator{}
	audit.RequireNote(&v, &in.Reason, "/reason")
	if len(v.FieldErrors) > 0 {
		return nil, apperr.Invalid(v.FieldErrors...)
	}
	var partner *wire.Partner
	err := s.InTx(ctx, caller, func(ctx context.Context, tx *store.Tx) error {
		row := new(PartnerRow)
		if err := LoadPartner(ctx, tx.NewSelect().Model(row).For("NO KEY UPDATE"), in.Slug); err != nil {
			return err
		}
		if row.Status != to {
			row.Status, row.Version, row.UpdatedAt = to, row.Version+1, store.LaterTime(tx.Now, row.UpdatedAt)
			if _, err := tx.NewUpdate().Model(row).Column("status", "version", "updated_at").WherePK().Exec(ctx); err != nil {
				return fmt.Errorf("write partner: %w", err)
			}
			audit.RecordOperatorAction(tx, audit.OperatorActionRow{Operation: operation, Partner: row.Slug, Note: &in.Reason})
		}
		partner = row.toRecord()
		return tx.StoreResponse(store.StatusOK, partner.ID, partner)
	})
	store.Local[partnerCache](s.Store).invalidate(in.Slug)
	return partner, err
}

// LoadPartner reads a partner by its slug into the model of a query. Errors: not_found.
func LoadPartner(ctx context.Context, q *bun.SelectQuery, name string) error {
	none := apperr.Fail(apperr.CodeNotFound, "There is no partner with this slug.")
	if !SlugPattern.MatchString(name) { // Postgres rejects some texts, such as invalid UTF-8
		return none
	}
	err := q.Where("pa.slug = ?", name).Scan(ctx)
	if store.IsNoRows(err) {
		return none
	}
	if err != nil {
		return fmt.Errorf("read partner: %w", err)
	}
	return nil
}

// Get returns one partner. Operators only. Errors: not_found.
func (s *Service) Get(ctx context.Context, caller actor.Actor, name string) (*wire.Partner, error) {
	if err := s.Authorize(ctx, caller, actor.ScopeOperator); err != nil {
		return nil, err
	}
	row := new(PartnerRow)
	if err := LoadPartner(ctx, s.DB.NewSelect().Model(row), name); err != nil {
		return nil, store.TranslateError(err)
	}
	return row.toRecord(), nil
}

// List lists all partners, ordered by slug. Operators only. Errors:
// cursor_invalid.
func (s *Service) List(ctx context.Context, caller actor.Actor, in store.PageRequest) (*store.Page[wire.Partner], error) {
	if err := s.Authorize(ctx, caller, actor.ScopeOperator); err != nil {
		return nil, err
	}
	p, err := s.ParsePage(caller, in, "partners", store.SortOldestFirst)
	if err != nil {
		return nil, err
	}
	p.Count = s.NewCounter(s.DB.NewSelect().Model((*PartnerRow)(nil)).ColumnExpr("1"))
	var rows []PartnerRow
	err = s.DB.NewSelect().Model(&rows).Where("pa.slug > ?", p.After).OrderExpr("pa.slug").Limit(p.FetchLimit()).Scan(ctx)
	if err != nil {
		return nil, store.TranslateError(fmt.Errorf("list partners: %w", err))
	}
	return store.NewPage(p, rows, func(r *PartnerRow) string { return r.Slug }, func(r *PartnerRow) wire.Partner { return *r.toRecord() })
}

// toRecord returns the partner as operators see it; its id is its slug.
func (r *PartnerRow) toRecord() *wire.Partner {
	return &wire.Partner{
		Header: wire.Header{ID: r.Slug, Object: "partner", CreatedAt: r.CreatedAt, UpdatedAt: r.UpdatedAt, Version: r.Version},
		Slug:   r.Slug, Name: r.Name, Status: string(r.Status), Terms: r.Terms,
	}
}
