package httprail

import (
	"errors"
	"fmt"
	"time"

	"parapet/jobs/rail"
	"parapet/model/account"
	"parapet/model/money"
)

// Order is the body of POST /transfers.
type Order struct {
	Key         string              `json:"key"`
	PayoutID    string              `json:"payout_id"`
	Amount      money.Money         `json:"amount"`
	Beneficiary account.Beneficiary `json:"beneficiary"`
	Account     account.Number      `json:"account"`
	ExpiresAt   time.Time           `json:"expires_at,omitzero"` // must not be executed from this time on
}

// OrderGroup is the body of POST /transfers/batch, TransferGroup its response.
type OrderGroup struct {
	Orders []Order `json:"orders"`
}

// TransferGroup has one transfer for each order, in any order.
type TransferGroup struct {
	Transfers []Transfer `json:"transfers"`
}

// Transfer is the state of a key at the rail, in answers and notices.
type Transfer struct {
	Key           string      `json:"key"`
	Status        string      `json:"status"`
	Reference     string      `json:"reference"`
	Amount        money.Money `json:"amount"`
	Account       string      `json:"account"`        // masked: «iban ····3000»
	AccountDigest string      `json:"account_digest"` // see rail.AccountDigest
	Code          string      `json:"code"`
}

// The values of Transfer.Status.
const (
	statusAccepted = "accepted"
	statusRefused  = "refused"
	statusPending  = "pending"
	statusNotFound = "not_found"
	statusExpired  = "expired"
	statusVoided   = "voided"
)

// VoidRequest is the body of POST /transfers/{key}/void.
type VoidRequest struct {
	Key string `json:"key"`
}

// AccountCheck is the body of POST /accounts/check, AccountCheckResult its response.
type AccountCheck struct {
	Beneficiary account.Beneficiary `json:"beneficiary"`
	Account     account.Number      `json:"account"`
}

// AccountCheckResult is the rail's verification of an account.
type AccountCheckResult struct {
	Verified *bool  `json:"verified"`
	Method   string `json:"method"`
	Code     string `json:"code"`
}

// ReportPage is one page of a day's report.
type ReportPage struct {
	Date       string       `json:"date"`
	Lines      []ReportLine `json:"lines"`
	NextCursor string       `json:"next_cursor"` // empty on the last page
	TotalLines *int         `json:"total_lines"` // of the whole report; on the last page
}

// ReportLine is a line of a report.
type ReportLine struct {
	Key       string          `json:"key"`
	Reference string          `json:"reference"`
	Amount    money.Money     `json:"amount"`
	Account   string          `json:"account"`
	Status    rail.LineStatus `json:"status"`
	Code      string          `json:"code"`
}

var (
	errIncomplete    = errors.New("the rail's answer is incomplete")
	errOtherKey      = errors.New("the rail answered about another key")
	errUnknownStatus = errors.New("the rail's answer has an unknown status")
)

// toResult converts a transfer to the result for a key. An incomplete transfer leaves the
// payment in doubt.
func (t Transfer) toResult(key string) rail.Result {
	switch {
	case t.Key != key:
		return rail.InDoubt(codeUnreadable, errOtherKey)
	case t.Status == statusAccepted && (t.Reference == "" || !money.IsCurrency(t.Amount.Currency) || t.Account == "" || t.AccountDigest == ""):
		return rail.InDoubt(codeUnreadable, errIncomplete)
	case t.Status == statusAccepted:
		return rail.Result{Outcome: rail.Accepted, Reference: t.Reference, Paid: t.Amount, Payee: t.Account, Digest: t.AccountDigest, Code: t.Code}
	case t.Status == statusRefused && t.Code == "":
		return rail.InDoubt(codeUnreadable, errIncomplete)
	case t.Status == statusRefused:
		return rail.Result{Outcome: rail.Refused, Code: t.Code}
	case t.Status == statusNotFound:
		return rail.Result{Outcome: rail.NotFound}
	case t.Status == statusVoided:
		return rail.Result{Outcome: rail.Refused, Code: rail.CodeVoided}
	case t.Status == statusExpired:
		return rail.Result{Outcome: rail.NotSent, Code: rail.CodeExpired}
	case t.Status == statusPending:
		return rail.Result{Outcome: rail.Unknown, Code: statusPending}
	default:
		return rail.InDoubt(codeUnreadable, errUnknownStatus)
	}
}

var lineStatuses = map[rail.LineStatus]bool{rail.Settled: true, rail.Rejected: true, rail.Returned: true, rail.InFlight: true}

func (r ReportLine) toLine(day time.Time) (rail.Line, error) {
	if r.Reference == "" || !money.IsCurrency(r.Amount.Currency) || !lineStatuses[r.Status] {
		return rail.Line{}, fmt.Errorf("%w: a line lacks its reference, amount or status", rail.ErrInvalidReport)
	}
	return rail.Line{Key: r.Key, Reference: r.Reference, Amount: r.Amount, Payee: r.Account, Status: r.Status, Code: r.Code, Date: day}, nil
}
