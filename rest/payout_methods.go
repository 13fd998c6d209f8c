package rest

import (
	"context"

	"parapet/model/account"
	"parapet/model/kernel/store"
	"parapet/model/payouts"
	"parapet/model/wire"
)

type payoutMethodRequest struct {
	ClaimID       *string                `json:"claim_id,omitzero" doc:"The claim it serves. Name exactly one of claim_id and policy_id."`
	PolicyID      *string                `json:"policy_id,omitzero"`
	Type          account.Type           `json:"type" enum:"iban,us_bank_account,mobile_money"`
	Beneficiary   wire.Beneficiary       `json:"beneficiary"`
	Currency      string                 `json:"currency" minLength:"3" maxLength:"3" doc:"ISO 4217, in capitals." example:"USD"`
	IBAN          *account.IBAN          `json:"iban,omitzero" doc:"For type iban. Never shown again."`
	USBankAccount *account.USBankAccount `json:"us_bank_account,omitzero" doc:"For type us_bank_account. Never shown again."`
	MobileMoney   *account.MobileMoney   `json:"mobile_money,omitzero" doc:"For type mobile_money. Never shown again."`
	PartnerFields
}

func (in *payoutMethodRequest) toModel() payouts.MethodRequest {
	return payouts.MethodRequest{
		ClaimID: in.ClaimID, PolicyID: in.PolicyID,
		Number:           account.Number{Type: in.Type, IBAN: in.IBAN, USBankAccount: in.USBankAccount, MobileMoney: in.MobileMoney},
		Beneficiary:      account.Beneficiary(in.Beneficiary),
		Currency:         in.Currency,
		PartnerReference: in.PartnerReference, Metadata: in.Metadata,
	}
}

func (s *server) recordPayoutMethod(ctx context.Context, c *requestContext, in payoutMethodRequest) (*wire.PayoutMethod, error) {
	return s.Service.Payouts.RecordMethod(ctx, c.actor, in.toModel())
}

func (s *server) getPayoutMethods(ctx context.Context, c *requestContext, page store.PageRequest) (*store.Page[wire.PayoutMethod], error) {
	return s.Service.Payouts.GetMethods(ctx, c.actor, c.pathParam("claim_id"), page)
}

func (s *server) getPolicyPayoutMethods(ctx context.Context, c *requestContext, page store.PageRequest) (*store.Page[wire.PayoutMethod], error) {
	return s.Service.Payouts.GetPolicyMethods(ctx, c.actor, c.pathParam("policy_id"), page)
}

func (s *server) getPayoutMethod(ctx context.Context, c *requestContext) (*wire.PayoutMethod, error) {
	return s.Service.Payouts.GetMethod(ctx, c.actor, c.pathParam("payout_method_id"))
}
