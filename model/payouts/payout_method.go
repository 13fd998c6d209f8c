package payouts

import (
	"context"
	"fmt"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"parapet/model/account"
	"parapet/model/claims"
	"parapet/model/kernel/actor"
	"parapet/model/kernel/apperr"
	"parapet/model/kernel/event"
	"parapet/model/kernel/optional"
	"parapet/model/kernel/seal"
	"parapet/model/kernel/store"
	"parapet/model/money"
	"parapet/model/underwriting"
	"parapet/model/wire"
)

// PayoutMethodRow is an account that payouts can go to. Its number is sealed; the other
// columns hold the parts that may be shown.
type PayoutMethodRow struct {
	bun.BaseModel `bun:"table:payout_methods,alias:pm"`
	store.RowHeader
	store.PartnerFields

	ClaimID            *uuid.UUID `bun:"type:uuid"` // nil: applies to every claim of the policy
	PolicyID           uuid.UUID  `bun:"type:uuid"`
	Status             MethodStatus
	Type               account.Type
	BeneficiaryName    string
	BeneficiaryCountry string
	Currency           string
	Last4              string
	Institution        *string
	Country            *string
	Fingerprint        string
	Sealed             []byte
	VerificationMethod *string
	VerificationCode   *string
	CheckedAt          *time.Time
	NextCheckAt        *time.Time // while pending: when the sweep requests its check again
	CoolingOffUntil    *time.Time // end of the cooling-off period after it replaced another account; automatic payouts wait until then
}

// MethodRequest records an account for a claim or for a whole policy.
type MethodRequest struct {
	ClaimID          *string
	PolicyID         *string
	Number           account.Number
	Beneficiary      account.Beneficiary
	Currency         string
	PartnerReference *string
	Metadata         map[string]string
}

func (in *MethodRequest) validate(v *apperr.Validator) {
	v.RequireReferences(in.PartnerReference, in.Metadata)
	v.Require((in.ClaimID == nil) != (in.PolicyID == nil) || !v.IsParsed("/policy_id"), "/claim_id", "one_of", "Name exactly one of claim_id and policy_id.")
	v.Require(money.IsCurrency(in.Currency), "/currency", "value", "Use an ISO 4217 code in capitals, such as USD.")
	for _, problem := range in.Number.Validate() {
		v.Require(false, problem.Pointer, problem.Code, problem.Detail)
	}
	for _, problem := range in.Beneficiary.Validate() {
		v.Require(false, "/beneficiary"+problem.Pointer, problem.Code, problem.Detail)
	}
}

// RecordMethod stores an account and requests its check by the rail. It replaces
// an earlier method of the same claim or policy. Errors: not_found, validation_failed,
// state_conflict, reference_taken.
func (s *Service) RecordMethod(ctx context.Context, caller actor.Actor, in MethodRequest) (*wire.PayoutMethod, error) {
	if err := s.Authorize(ctx, caller, actor.ScopePayoutMethodsWrite); err != nil {
		return nil, err
	}
	v := apperr.NewValidator(ctx)
	in.validate(v)
	if err := v.Err(); err != nil {
		return nil, err
	}
	var method *wire.PayoutMethod
	err := s.InTx(ctx, caller, func(ctx context.Context, tx *store.Tx) error {
		p, claim, err := lockPayee(ctx, tx, in)
		if err != nil {
			return err
		}
		row, err := newMethod(tx, p, claim, in)
		if err != nil {
			return err
		}
		method = row.toRecord()
		if err := addMethod(ctx, tx, row, claim, method); err != nil {
			return err
		}
		_, claims, err := lockServedClaims(ctx, tx, row)
		if err != nil {
			return err
		}
		if err := reevaluateClaims(ctx, tx, p, nil, claims); err != nil {
			return err
		}
		tx.EnqueueJob(VerifyPayoutMethod{Partner: row.Partner, ID: method.ID})
		return tx.StoreResponse(store.StatusCreated, method.ID, method)
	})
	return method, s.AddReferenceHolder(ctx, caller, err, store.ResourcePayoutMethod, (*PayoutMethodRow)(nil), in.PartnerReference)
}

// lockPayee locks the policy and, if the request names one, the claim.
func lockPayee(ctx context.Context, tx *store.Tx, in MethodRequest) (*underwriting.PolicyRow, *claims.ClaimRow, error) {
	if in.ClaimID != nil {
		id, err := store.ResourceClaim.ParseID(*in.ClaimID)
		if err != nil {
			return nil, nil, err
		}
		p, claim, err := LockClaimAndPolicy(ctx, tx, id)
		if err != nil {
			return nil, nil, err
		}
		return p, claim, checkPayable(p, claim, in.Currency)
	}
	id, err := store.ResourcePolicy.ParseID(*in.PolicyID)
	if err != nil {
		return nil, nil, err
	}
	p := new(underwriting.PolicyRow)
	if err := tx.LockRow(ctx, p, id, store.ResourcePolicy); err != nil {
		return nil, nil, err
	}
	return p, nil, checkPayable(p, nil, in.Currency)
}

func checkPayable(p *underwriting.PolicyRow, claim *claims.ClaimRow, currency string) error {
	switch {
	case currency != p.Currency:
		return apperr.Invalid(apperr.NewFieldError("/currency", "value", "Use the policy's currency, "+p.Currency+"."))
	case claim == nil:
		return nil
	case claim.Status == claims.ClaimDeclined || claim.Status == claims.ClaimWithdrawn || claim.Status == claims.ClaimClosed:
		return apperr.Fail(apperr.CodeStateConflict, "The claim is %s; nothing is owed for it.", claim.Status)
	}
	return nil
}

func newMethod(tx *store.Tx, p *underwriting.PolicyRow, claim *claims.ClaimRow, in MethodRequest) (*PayoutMethodRow, error) {
	number := in.Number.Normalize()
	row := &PayoutMethodRow{
		RowHeader: tx.NewHeader(p.Partner), PartnerFields: store.PartnerFields{PartnerReference: in.PartnerReference, Metadata: in.Metadata},
		PolicyID: p.ID, Status: MethodPending, Type: number.Type,
		BeneficiaryName: in.Beneficiary.Name, BeneficiaryCountry: in.Beneficiary.Country, Currency: in.Currency,
		Last4: number.Last4(), Institution: optional.NonZero(number.Institution()), Country: optional.NonZero(number.Country()),
		Fingerprint: tx.Store.Keys.ComputeFingerprint(p.Partner, number.Canonical()), NextCheckAt: new(tx.Now.Add(checkLostAfter)),
	}
	if claim != nil {
		row.ClaimID = &claim.ID
	}
	plain, err := json.Marshal(number)
	if err == nil {
		row.Sealed, err = tx.Store.Keys.SealBytes(plain, seal.ColumnContext(row.Partner, row.ID, "payout_methods.sealed"))
	}
	if err != nil {
		return nil, fmt.Errorf("seal account: %w", err)
	}
	return row, nil
}

// addMethod replaces the present method and records the event.
func addMethod(ctx context.Context, tx *store.Tx, row *PayoutMethodRow, claim *claims.ClaimRow, public *wire.PayoutMethod) error {
	var earlier []*PayoutMethodRow
	err := tx.NewSelect().Model(&earlier).Where("policy_id = ?", row.PolicyID).Where("claim_id is not distinct from ?", row.ClaimID).
		Where("status <> ?", MethodReplaced).OrderExpr("id").For("NO KEY UPDATE").Scan(ctx)
	if err != nil {
		return fmt.Errorf("lock payout methods: %w", err)
	}
	if err := startCoolingOff(ctx, tx, row); err != nil {
		return err
	}
	if _, err := tx.NewInsert().Model(row).Exec(ctx); err != nil {
		return fmt.Errorf("insert payout method: %w", err)
	}
	occurred, err := tx.AppendEvent(event.PayoutMethodRecorded, &row.RowHeader, store.ResourcePayoutMethod, public)
	if err != nil {
		return err
	}
	if err := recordMethodEvent(tx, claim, row, event.PayoutMethodRecorded, occurred); err != nil {
		return err
	}
	for _, old := range earlier {
		tx.AdvanceClock(&old.RowHeader)
		if err := transitionMethod(ctx, tx, old, claim, MethodReplaced); err != nil {
			return err
		}
	}
	if claim == nil {
		return nil
	}
	return claims.SaveTimelinePosition(ctx, tx, claim)
}

// startCoolingOff sets a cooling-off period for an account that replaces one that was
// paid, or was about to be paid. A thief of a partner's credentials changes the account
// first. Recording the same account again does not extend the period. A policy's
// account also replaces its claims' own accounts, once those are gone.
func startCoolingOff(ctx context.Context, tx *store.Tx, row *PayoutMethodRow) error {
	var serving []PayoutMethodRow
	err := tx.NewSelect().Model(&serving).Where("pm.policy_id = ?", row.PolicyID).Where("pm.partner = ?", row.Partner).
		Where("?0::uuid is null or pm.claim_id is null or pm.claim_id = ?0", row.ClaimID).Where("pm.status <> ?", MethodReplaced).OrderExpr("pm.id").Scan(ctx)
	if err != nil {
		return fmt.Errorf("read payout methods: %w", err)
	}
	for _, m := range serving {
		switch same := m.Fingerprint == row.Fingerprint; {
		case same && m.inCoolingOff(tx.Now):
			row.CoolingOffUntil = m.CoolingOffUntil
			return nil
		case !same && (m.Status == MethodVerified || m.CoolingOffUntil != nil):
			row.CoolingOffUntil = new(tx.Now.Add(coolingOffPeriod))
		}
	}
	return nil
}

// transitionMethod changes the status of a method and records the event; the caller
// writes the claim's timeline position.
func transitionMethod(ctx context.Context, tx *store.Tx, row *PayoutMethodRow, claim *claims.ClaimRow, to MethodStatus, columns ...string) error {
	kind, err := store.ChangeStatus(ctx, tx, row, PayoutMethodTransitions, &row.Status, to, columns...)
	if err != nil {
		return err
	}
	event, err := tx.AppendEvent(kind, &row.RowHeader, store.ResourcePayoutMethod, row.toRecord())
	if err != nil {
		return err
	}
	return recordMethodEvent(tx, claim, row, kind, event)
}

// recordMethodEvent adds a timeline entry for a claim's own method. A policy's method
// belongs to no single claim and gets none.
func recordMethodEvent(tx *store.Tx, claim *claims.ClaimRow, row *PayoutMethodRow, kind event.Type, occurred uuid.UUID) error {
	if claim == nil || row.ClaimID == nil {
		return nil
	}
	said := map[event.Type]string{
		event.PayoutMethodRecorded: "was recorded", event.PayoutMethodVerified: "was verified",
		event.PayoutMethodRejected: "was rejected", event.PayoutMethodReplaced: "was replaced by another",
	}[kind]
	summary := fmt.Sprintf("The payout method ending in %s %s.", row.Last4, said)
	return claims.AppendTimeline(tx, claim, kind, &occurred, summary, map[string]any{"payout_method_id": store.ResourcePayoutMethod.FormatID(row.ID), "status": row.Status})
}

func (r *PayoutMethodRow) toRecord() *wire.PayoutMethod {
	m := &wire.PayoutMethod{
		Header: r.ToHeader(store.ResourcePayoutMethod), References: r.ToReferences(), ClaimID: store.ResourceClaim.FormatOptionalID(r.ClaimID),
		Type: string(r.Type), Beneficiary: wire.Beneficiary{Name: r.BeneficiaryName, Country: r.BeneficiaryCountry},
		Currency: r.Currency, Display: r.display(),
		Fingerprint: r.Fingerprint, Status: string(r.Status),
	}
	if r.ClaimID == nil {
		m.PolicyID = store.ResourcePolicy.FormatOptionalID(&r.PolicyID)
	}
	if r.CheckedAt != nil {
		m.Verification = &wire.Verification{Method: *r.VerificationMethod, Code: *r.VerificationCode, CheckedAt: *r.CheckedAt}
	}
	return m
}

// display returns the part of the account that may be shown. Earlier releases stored the
// routing number of a US account as its institution; it is never shown.
func (r *PayoutMethodRow) display() wire.Display {
	d := wire.Display{Last4: r.Last4, Institution: r.Institution, Country: r.Country}
	if r.Type == account.TypeUSBankAccount {
		d.Institution = nil
	}
	return d
}

// OpenNumber decrypts the account number.
func (r *PayoutMethodRow) OpenNumber(keys seal.Keys) (account.Number, error) {
	var number account.Number
	plain, err := keys.OpenBytes(r.Sealed, seal.ColumnContext(r.Partner, r.ID, "payout_methods.sealed"))
	if err == nil {
		err = json.Unmarshal(plain, &number)
	}
	return number, err
}
