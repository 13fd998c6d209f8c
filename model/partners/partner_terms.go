package partners

import (
	"context"
	"fmt"
	"net/mail"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/shopspring/decimal"

	"parapet/model/audit"
	"parapet/model/kernel/actor"
	"parapet/model/kernel/apperr"
	"parapet/model/kernel/store"
	"parapet/model/money"
	"parapet/model/wire"
)

// TermsRequest replaces all terms of a partner.
type TermsRequest struct {
	Slug string
	wire.PartnerTerms
	Reason string // private
}

// The bounds of a partner's terms.
const (
	maxTermsEntries   = 100
	maxContacts       = 20
	maxRequestsPerSec = 100_000
)

// maxCommissionShare leaves room for the running costs of every product.
var maxCommissionShare = decimal.New(5, -1)

func (in *TermsRequest) validate() []apperr.FieldError {
	v := apperr.Validator{}
	audit.RequireNote(&v, &in.Reason, "/reason")
	v.Require(in.Products == nil || len(in.Products) > 0 && len(in.Products) <= maxTermsEntries, "/products", "length",
		fmt.Sprintf("Name 1 to %d products, or leave it out: then all may be sold. To stop a partner, use disablePartner.", maxTermsEntries))
	share := in.CommissionShare
	v.Require(share == nil || !share.IsNegative() && share.LessThanOrEqual(maxCommissionShare) && share.Exponent() >= -4, "/commission_share", "range",
		fmt.Sprintf("Use 0 to %s, with at most 4 decimals.", maxCommissionShare))
	v.Require(len(in.MaximumLimits) <= maxTermsEntries, "/maximum_limits", "length", fmt.Sprintf("Give at most %d.", maxTermsEntries))
	for i, limit := range in.MaximumLimits {
		twice := slices.ContainsFunc(in.MaximumLimits[:i], func(other money.Money) bool { return other.Currency == limit.Currency })
		v.Require(limit.Amount > 0 && money.IsCurrency(limit.Currency) && !twice, fmt.Sprintf("/maximum_limits/%d", i), "value", "Give one positive amount for each currency.")
	}
	for at, number := range map[string]*int{"/requests_per_second": in.RequestsPerSecond, "/request_burst": in.RequestBurst} {
		v.Require(number == nil || *number >= 1 && *number <= maxRequestsPerSec, at, "range", fmt.Sprintf("Use 1 to %d.", maxRequestsPerSec))
	}
	v.Require(len(in.Contacts) <= maxContacts, "/contacts", "length", fmt.Sprintf("Give at most %d.", maxContacts))
	for i, contact := range in.Contacts {
		address, err := mail.ParseAddress(contact.Email)
		v.Require(err == nil && address.Address == contact.Email && len(contact.Email) <= 254, fmt.Sprintf("/contacts/%d/email", i), "value", "Use an e-mail address, such as claims@example.com.")
		v.Require(isOneLine(contact.Name), fmt.Sprintf("/contacts/%d/name", i), "length", fmt.Sprintf("Use 1 to %d characters on one line, without white space at the ends.", maxPartnerName))
	}
	return v.FieldErrors
}

// isOneLine reports whether a name can be shown on one line.
func isOneLine(name string) bool {
	return name != "" && utf8.RuneCountInString(name) <= maxPartnerName && utf8.ValidString(name) && name == strings.TrimSpace(name) && !strings.ContainsFunc(name, unicode.IsControl)
}

// SetTerms replaces the terms of a partner. They count for new quotes and requests, on
// every node within seconds; quotes and policies keep theirs. Operators only. Errors:
// not_found, validation_failed.
func (s *Service) SetTerms(ctx context.Context, caller actor.Actor, in TermsRequest) (*wire.Partner, error) {
	if err := s.Authorize(ctx, caller, actor.ScopeOperator); err != nil {
		return nil, err
	}
	if fields := in.validate(); len(fields) > 0 {
		return nil, apperr.Invalid(fields...)
	}
	var partner *wire.Partner
	err := s.InTx(ctx, caller, func(ctx context.Context, tx *store.Tx) error {
		row := new(PartnerRow)
		if err := LoadPartner(ctx, tx.NewSelect().Model(row).For("NO KEY UPDATE"), in.Slug); err != nil {
			return err
		}
		if err := requireProducts(ctx, tx, in.Products); err != nil {
			return err
		}
		row.Terms, row.Version, row.UpdatedAt = in.PartnerTerms, row.Version+1, store.LaterTime(tx.Now, row.UpdatedAt)
		if _, err := tx.NewUpdate().Model(row).Column("terms", "version", "updated_at").WherePK().Exec(ctx); err != nil {
			return fmt.Errorf("write partner: %w", err)
		}
		tx.Describe(row.Slug, "", &in.Reason)
		partner = row.toRecord()
		return tx.StoreResponse(store.StatusOK, partner.ID, partner)
	})
	store.Local[partnerCache](s.Store).invalidate(in.Slug)
	return partner, err
}

// requireProducts returns validation_failed for a product that was never published: a
// misspelt key would stop the sale of the one that was meant.
func requireProducts(ctx context.Context, tx *store.Tx, keys []string) error {
	for i, key := range keys {
		var known bool
		if SlugPattern.MatchString(key) {
			if err := tx.NewRaw("select exists (select from products where key = ?)", key).Scan(ctx, &known); err != nil {
				return fmt.Errorf("look up product: %w", err)
			}
		}
		if !known {
			return apperr.Invalid(apperr.NewFieldError(fmt.Sprintf("/products/%d", i), "unknown", "Use the key of a published product, such as quake-circle."))
		}
	}
	return nil
}

// LoadTerms returns the terms of a partner, as known PartnerCacheTTL ago at most.
func LoadTerms(ctx context.Context, s *store.Store, partner string) (wire.PartnerTerms, error) {
	known, err := store.Local[partnerCache](s).lookUp(ctx, s.DB, partner)
	return known.terms, err
}
