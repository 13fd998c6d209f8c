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
	ExpiresAt   time.Time           `json:"expires_at,omitzero"` // not to be executed from then on
}

// Transfer is what the rail says of a key: its answer, and its notice.
type Transfer struct {
	Key           string      `json:"key"`
	Status        string      `json:"status"`
	Reference     string      `json:"reference"`
	Amount        money.Money `json:"amount"`
	Account       string      `json:"account"`        // masked: «iban ····3000»
	AccountDigest string      `json:"account_digest"` // see rail.AccountDigest
	Code          string      `json:"code"`
}

// The words of Transfer.Status.
const (
	statusAccepted = "accepted"
	statusRefused  = "refused"
	statusPending  = "pending"
	statusNotFound = "not_found"
	statusExpired  = "expired"
	statusVoided   = "voided"
)

// Voiding is the body of POST /transfers/{key}/void.
type Voiding struct {
	Key string `json:"key"`
}

// Check is the body of POST /accounts/check, Checked its answer.
type Check struct {
	Beneficiary account.Beneficiary `json:"beneficiary"`
	Account     account.Number      `json:"account"`
}

// Checked is what the rail knows of an account.
type Checked struct {
	Verified *bool  `json:"verified"`
	Method   string `json:"method"`
	Code     string `json:"code"`
}

// Page is a part of a day's report.
type Page struct {
	Date       string     `json:"date"`
	Lines      []Reported `json:"lines"`
	NextCursor string     `json:"next_cursor"` // empty on the last page
	TotalLines *int       `json:"total_lines"` // of the whole report, on the last page
}

// Reported is a line of a report.
type Reported struct {
	Key       string          `json:"key"`
	Reference string          `json:"reference"`
	Amount    money.Money     `json:"amount"`
	Account   string          `json:"account"`
	Status    rail.LineStatus `json:"status"`
	Code      string          `json:"code"`
}

var (
	errIncomplete = errors.New("the rail's answer is incomplete")
	errOtherKey   = errors.New("the rail answered about another key")
	errWord       = errors.New("the rail's answer has an unknown status")
)

// result is what a transfer says of a key. What is incomplete says nothing.
func (t Transfer) result(key string) rail.Result {
	switch {
	case t.Key != key:
		return rail.Doubt(codeUnreadable, errOtherKey)
	case t.Status == statusAccepted && (t.Reference == "" || !money.Known(t.Amount.Currency) || t.Account == "" || t.AccountDigest == ""):
		return rail.Doubt(codeUnreadable, errIncomplete)
	case t.Status == statusAccepted:
		return rail.Result{Outcome: rail.Accepted, Reference: t.Reference, Paid: t.Amount, Payee: t.Account, Digest: t.AccountDigest, Code: t.Code}
	case t.Status == statusRefused && t.Code == "":
		return rail.Doubt(codeUnreadable, errIncomplete)
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
		return rail.Doubt(codeUnreadable, errWord)
	}
}

var lineStatuses = map[rail.LineStatus]bool{rail.Settled: true, rail.Rejected: true, rail.Returned: true, rail.Underway: true}

func (r Reported) line(day time.Time) (rail.Line, error) {
	if r.Reference == "" || !money.Known(r.Amount.Currency) || !lineStatuses[r.Status] {
		return rail.Line{}, fmt.Errorf("%w: a line lacks its reference, amount or status", rail.ErrBroken)
	}
	return rail.Line{Key: r.Key, Reference: r.Reference, Amount: r.Amount, Payee: r.Account, Status: r.Status, Code: r.Code, Date: day}, nil
}
