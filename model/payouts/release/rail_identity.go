package release

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"parapet/model/audit"
	"parapet/model/kernel/actor"
	"parapet/model/kernel/apperr"
	"parapet/model/kernel/store"
	"parapet/model/payouts"
)

// identityRow is an identity that received orders. Rows are insert-only except for
// bank.
type identityRow struct {
	bun.BaseModel `bun:"table:rail_identities,alias:ri"`

	ID          string `bun:",pk"`
	Name        string
	Address     string
	Account     string
	Bank        string // ID of one of the identities of the same bank
	FirstUsedAt time.Time
}

// KnownRail is an identity that received orders, as operators see it.
type KnownRail struct {
	ID            string
	Name, Address string
	Account       string
	Bank          string // equal for the identities of one bank
	FirstUsedAt   time.Time
	InDoubt       int // number of payouts that only this bank can settle
	// DaysWithoutReport are the past UTC days, as YYYY-MM-DD, without an applied report
	// of the bank, since the oldest payment that one of its reports settles; at most
	// the oldest 100.
	DaysWithoutReport []string `bun:"-"`
}

// RegisterRail stores an identity before it receives orders.
func (s *Service) RegisterRail(ctx context.Context, rail payouts.RailIdentity) error {
	if _, registered := s.registeredRails.Load(rail); registered {
		return nil
	}
	err := s.InTx(ctx, actor.System(), func(ctx context.Context, tx *store.Tx) error {
		row := &identityRow{ID: rail.ID(), Name: rail.Name, Address: rail.Address, Account: rail.Account, Bank: rail.ID(), FirstUsedAt: tx.Now}
		_, err := tx.NewInsert().Model(row).On("conflict do nothing").Exec(ctx)
		return err
	})
	if err != nil {
		return fmt.Errorf("register rail: %w", err)
	}
	s.registeredRails.Store(rail, true)
	return nil
}

// OtherBankSQL is true for an attempt a, with its identity joined as i, whose order may
// be at another bank than the identity's. Attempts without an identity are compared by
// rail name.
const OtherBankSQL = `(case when a.rail_identity is null then a.rail <> %[1]s
	else coalesce(i.bank, a.rail_identity) is distinct from coalesce((select bank from rail_identities where id = %[2]s), %[2]s) end)`

// BankOf returns the bank of an identity's ID, empty if there is none.
func BankOf(id string) string {
	return fmt.Sprintf("coalesce((select bank from rail_identities where id = %[1]s), %[1]s, '')", id)
}

// JoinWaiting joins, to attempts a, the payouts po that wait for the answer or report
// of the bank that has the attempt's order.
const JoinWaiting = ` join payouts po on po.id = a.payout_id and po.partner = a.partner and a.key like '%.' || po.idempotency_seq
	and (po.status = 'released' or po.status in ('releasing', 'reconciling') and po.next_attempt_at is not null) and a.outcome is distinct from 'not_sent' `

// JoinIdentitySQL joins the identity of the rail that received an attempt a.
const JoinIdentitySQL = " left join rail_identities i on i.id = a.rail_identity "

// NoReportSQL returns the SQL condition that no report of the UTC day m.day was applied for
// a bank, which is an expression such as BankOf returns. Further conditions restrict the
// reports t.
func NoReportSQL(bank string, conditions ...string) string {
	conditions = append([]string{"t.day = m.day", "t.report_id is not null", BankOf("t.rail_identity") + " = " + bank}, conditions...)
	return "not exists (select from rail_report_days t where " + strings.Join(conditions, " and ") + ")"
}

// KnownRails lists all identities, the latest first, each with the payouts in doubt
// that only its bank can settle and the days whose reports could settle payouts.
// Operators only.
func (s *Service) KnownRails(ctx context.Context, caller actor.Actor) ([]KnownRail, error) {
	if err := s.Authorize(ctx, caller, actor.ScopeOperator); err != nil {
		return nil, err
	}
	var rails []KnownRail
	err := s.DB.NewRaw(`select i.id, i.name, i.address, i.account, i.bank, i.first_used_at, coalesce(d.n, 0) as in_doubt from rail_identities i
		left join (select a.rail_identity, count(distinct po.id) as n from payouts po
			join payout_attempts a on a.payout_id = po.id and a.partner = po.partner and a.key like '%.' || po.idempotency_seq and a.outcome is distinct from 'not_sent'
			where po.next_attempt_at is not null and po.status in ('releasing', 'reconciling') group by 1) d on d.rail_identity = i.id
		order by i.first_used_at desc, i.id`).Scan(ctx, &rails)
	if err != nil {
		return nil, store.TranslateError(fmt.Errorf("read rail identities: %w", err))
	}
	var open []struct{ ID, Day string }
	err = s.DB.NewRaw(`select i.id, to_char(d.day, 'YYYY-MM-DD') as day from (
			select a.rail_identity as id, min(a.started_at) - (select offset_interval from clock) as since from payout_attempts a`+JoinWaiting+`where a.rail_identity <> '' group by 1) i,
		lateral (select m.day from generate_series(date_trunc('day', i.since at time zone 'UTC'), (clock_timestamp() at time zone 'UTC')::date - 1, interval '1 day') as m (day)
			where `+NoReportSQL(BankOf("i.id"))+`
			order by 1 limit ?) d order by 1, 2`, MaxDaysShown).Scan(ctx, &open)
	for i := range rails {
		rails[i].DaysWithoutReport = make([]string, 0)
		for _, o := range open {
			if o.ID == rails[i].ID {
				rails[i].DaysWithoutReport = append(rails[i].DaysWithoutReport, o.Day)
			}
		}
	}
	return rails, store.TranslateError(err)
}

// CountInDoubtElsewhere counts the payouts in doubt that other banks than the
// identity's may have, by rail and address. System and operators only.
func (s *Service) CountInDoubtElsewhere(ctx context.Context, caller actor.Actor, rail payouts.RailIdentity) (map[payouts.RailIdentity]int, error) {
	if err := s.Authorize(ctx, caller, actor.ScopeOperator); err != nil {
		return nil, err
	}
	var rows []struct {
		Name, Address, Account string
		Count                  int
	}
	err := s.QueryPreparedRows(ctx, s.Pool, &rows, `select a.rail as name, coalesce(i.address, '') as address, coalesce(i.account, '') as account, count(distinct po.id) as count
		from payouts po join payout_attempts a on a.payout_id = po.id and a.partner = po.partner and a.key like '%.' || po.idempotency_seq`+JoinIdentitySQL+`
		where po.next_attempt_at is not null and po.status in ('releasing', 'reconciling') and a.outcome is distinct from 'not_sent'
			and `+fmt.Sprintf(OtherBankSQL, "$1", "$2")+` group by 1, 2, 3`, rail.Name, rail.ID())
	counts := make(map[payouts.RailIdentity]int, len(rows))
	for _, row := range rows {
		counts[payouts.RailIdentity{Name: row.Name, Address: row.Address, Account: row.Account}] = row.Count
	}
	return counts, store.TranslateError(err)
}

// adoptionRow is a declaration by two operators that two identities are the same bank.
type adoptionRow struct {
	bun.BaseModel `bun:"table:rail_adoptions,alias:ra"`

	ID              uuid.UUID `bun:",pk,type:uuid"`
	FromID          string
	ToID            string
	ProposedAt      time.Time
	ProposedBy      actor.PersonID
	Reason          string
	ConfirmedAt     *time.Time
	ConfirmedBy     *actor.PersonID
	ConfirmedReason *string
}

// RailAdoption declares that To is the same bank as From. It takes effect at
// ConfirmedAt.
type RailAdoption struct {
	ID              string
	From, To        string
	ProposedAt      time.Time
	ProposedBy      string
	Reason          string
	ConfirmedAt     *time.Time // nil until a second operator has confirmed
	ConfirmedBy     *string
	ConfirmedReason *string

	ProposedByIssuer, ConfirmedByIssuer *string
}

func (r *adoptionRow) toRecord() *RailAdoption {
	confirmedBy, issuer := r.ConfirmedBy.NameAndIssuer()
	return &RailAdoption{
		ID: store.ResourceRailAdoption.FormatID(r.ID), From: r.FromID, To: r.ToID, ProposedAt: r.ProposedAt, ProposedBy: r.ProposedBy.Name(), ProposedByIssuer: r.ProposedBy.Issuer(),
		Reason: r.Reason, ConfirmedAt: r.ConfirmedAt, ConfirmedBy: confirmedBy, ConfirmedByIssuer: issuer, ConfirmedReason: r.ConfirmedReason,
	}
}

// AdoptionRequest declares two identities as one bank.
type AdoptionRequest struct {
	From, To string // IDs of identities
	Reason   string // the operator's grounds, private
}

// AdoptRail declares two identities as one bank, so that payouts in doubt at one are
// inquired about and sent again at the other. One operator proposes it and another one
// confirms it with the same request. Operators only. Errors: not_found,
// validation_failed, state_conflict.
func (s *Service) AdoptRail(ctx context.Context, caller actor.Actor, in AdoptionRequest) (*RailAdoption, error) {
	if err := s.Authorize(ctx, caller, actor.ScopeOperator); err != nil {
		return nil, err
	}
	v := apperr.Validator{}
	audit.RequireNote(&v, &in.Reason, "/reason")
	v.Require(in.From != in.To, "/to", "value", "Name another identity than from.")
	if len(v.FieldErrors) > 0 {
		return nil, apperr.Invalid(v.FieldErrors...)
	}
	var adoption *RailAdoption
	err := s.InTx(ctx, caller, func(ctx context.Context, tx *store.Tx) error {
		row, err := adoptRail(ctx, tx, in)
		if err != nil {
			return err
		}
		adoption = row.toRecord()
		tx.Describe("", adoption.ID, &in.Reason)
		return tx.StoreResponse(store.StatusOK, adoption.ID, adoption)
	})
	return adoption, err
}

func adoptRail(ctx context.Context, tx *store.Tx, in AdoptionRequest) (*adoptionRow, error) {
	var rails []identityRow
	err := tx.NewSelect().Model(&rails).Where("ri.id in (?, ?)", in.From, in.To).OrderExpr("ri.id").For("no key update").Scan(ctx)
	switch {
	case err != nil:
		return nil, fmt.Errorf("lock rail identities: %w", err)
	case len(rails) < 2:
		return nil, apperr.Fail(apperr.CodeNotFound, "There is no rail identity with this id; railIdentities lists them.")
	case rails[0].Name != rails[1].Name:
		return nil, apperr.Fail(apperr.CodeStateConflict, "They are rails with different names, %s and %s: only reports of the first can settle its payouts in doubt.", rails[0].Name, rails[1].Name)
	case rails[0].Bank == rails[1].Bank:
		return nil, apperr.Fail(apperr.CodeStateConflict, "They are already the same bank.")
	}
	proposed := new(adoptionRow)
	err = tx.NewSelect().Model(proposed).Where("ra.from_id = ?", in.From).Where("ra.to_id = ?", in.To).Where("ra.confirmed_at is null").Scan(ctx)
	switch {
	case store.IsNoRows(err):
		row := &adoptionRow{ID: store.NewID(), FromID: in.From, ToID: in.To, ProposedAt: tx.Now, ProposedBy: tx.Actor.PersonID(), Reason: in.Reason}
		return row, store.InsertRows(ctx, tx, row)
	case err != nil:
		return nil, fmt.Errorf("read adoption: %w", err)
	case proposed.ProposedBy.IsActor(tx.Actor):
		return nil, apperr.Fail(apperr.CodeStateConflict, "You proposed this already; another operator must confirm it.")
	}
	proposed.ConfirmedAt, proposed.ConfirmedBy, proposed.ConfirmedReason = &tx.Now, new(tx.Actor.PersonID()), &in.Reason
	if _, err := tx.NewUpdate().Model(proposed).Column("confirmed_at", "confirmed_by", "confirmed_reason").WherePK().Exec(ctx); err != nil {
		return nil, fmt.Errorf("confirm adoption: %w", err)
	}
	_, err = tx.NewUpdate().Model((*identityRow)(nil)).Set("bank = ?", rails[0].Bank).Where("bank = ?", rails[1].Bank).Exec(ctx)
	return proposed, err
}

// MaxDaysShown bounds the days without a report that an error or an identity lists.
const MaxDaysShown = 100
