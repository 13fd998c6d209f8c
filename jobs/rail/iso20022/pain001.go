// Package iso20022 writes and reads the ISO 20022 messages between banks and their
// customers: pain.001.001.09 credit transfers out, pain.002 status reports and camt.053
// statements in.
//
// Reading is strict and streaming: a message that is truncated, contradicts its own sums
// or is one page of several is invalid as a whole.
package iso20022

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"parapet/jobs/rail"
	"parapet/jobs/rail/bankfile"
	"parapet/model/account"
	"parapet/model/money"
)

// Name is the rail's name as payouts show it.
const Name = "iso20022"

// Debtor is the paying customer and account.
type Debtor struct {
	Name string `json:"name"`
	ID   string `json:"id"` // the bank's id of its customer; may be empty
	IBAN string `json:"iban"`
	BIC  string `json:"bic"` // of the bank; may be empty
}

// Format implements bankfile.Format.
type Format struct {
	Debtor     Debtor
	Currencies []string // currencies the bank accepts; empty means EUR
}

// New checks the debtor's account.
func New(d Debtor, currencies []string) (*Format, error) {
	number := account.Number{Type: account.TypeIBAN, IBAN: &account.IBAN{IBAN: d.IBAN, BIC: d.BIC}}
	if problems := number.Validate(); len(problems) > 0 {
		return nil, fmt.Errorf("the paying account: %s: %s", problems[0].Pointer, problems[0].Detail)
	}
	if strings.TrimSpace(d.Name) == "" {
		return nil, errors.New("the paying account: its holder's name is missing")
	}
	if utf8.RuneCountInString(d.Name) > maxNameLength || utf8.RuneCountInString(d.ID) > maxIDLength {
		return nil, fmt.Errorf("the paying account: its holder's name has at most %d letters, and the bank's name for them %d", maxNameLength, maxIDLength)
	}
	if len(currencies) == 0 {
		currencies = []string{"EUR"}
	}
	own := number.Normalize().IBAN
	d.IBAN, d.BIC = own.IBAN, own.BIC
	return &Format{d, currencies}, nil
}

// Name implements bankfile.Format.
func (*Format) Name() string { return Name }

// Extension implements bankfile.Format.
func (*Format) Extension() string { return "xml" }

// Capabilities implements bankfile.Format.
func (f *Format) Capabilities() rail.Capabilities {
	return rail.Capabilities{SettlementDelay: 48 * time.Hour, Currencies: f.Currencies}
}

// maxIDLength is the limit of Max35Text, maxNameLength of Max140Text.
const (
	maxIDLength   = 35
	maxNameLength = 140
)

// maxAmount is the limit of the eighteen digits of an amount or control sum.
const maxAmount = 999_999_999_999_999_999

// MaxTotal implements bankfile.Format.
func (*Format) MaxTotal() int64 { return maxAmount }

// RefusalCode implements bankfile.Format.
func (f *Format) RefusalCode(i rail.Instruction) string {
	switch {
	case !f.Capabilities().SupportsCurrency(i.Amount.Currency):
		return rail.CodeCurrencyUnsupported
	case i.Amount.Amount <= 0 || i.Amount.Amount > maxAmount:
		return rail.CodeAmountInvalid
	case i.Payee.Number.Type != account.TypeIBAN || len(i.Payee.Number.Validate()) > 0:
		return rail.CodeInvalid
	default:
		return ""
	}
}

// Account implements bankfile.Format.
func (f *Format) Account() string { return rail.AccountFingerprint("iban:" + f.Debtor.IBAN) }

// EndToEndID implements bankfile.Format: Max35Text in characters that every bank accepts.
func (*Format) EndToEndID(key string) string { return bankfile.PolicyID(key) }

// Write implements bankfile.Format with one payment information block per file.
func (f *Format) Write(w io.Writer, b bankfile.PaymentFile) error {
	if len(b.Orders) == 0 {
		return errors.New("a batch without orders")
	}
	total, count := b.Total(), strconv.Itoa(len(b.Orders))
	sum := formatAmount(total)
	document := document{
		Space: "urn:iso:std:iso:20022:tech:xsd:pain.001.001.09",
		Header: groupHeader{
			MsgID: b.ID, Created: b.CreatedAt.UTC().Format("2006-01-02T15:04:05.000Z"), Count: count, Sum: sum,
			Party: party{Name: f.Debtor.Name, ID: optionalID(f.Debtor.ID)},
		},
		Payment: paymentInfo{
			ID: b.ID, Method: "TRF", Booking: "false", Count: count, Sum: sum, Date: b.CreatedAt.UTC().Format(time.DateOnly),
			Debtor: party{Name: f.Debtor.Name}, Account: accountOf(f.Debtor.IBAN), Agent: agentOf(f.Debtor.BIC), Charges: "SHAR",
		},
	}
	if total.Currency == "EUR" {
		document.Payment.Service, document.Payment.Charges = &serviceLevel{"SEPA"}, "SLEV"
	}
	for _, order := range b.Orders {
		document.Payment.Transfers = append(document.Payment.Transfers, f.newTransfer(order))
	}
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	encoder := xml.NewEncoder(w)
	encoder.Indent("", " ")
	return encoder.Encode(document)
}

func (f *Format) newTransfer(order rail.Instruction) transfer {
	id := f.EndToEndID(order.Key)
	number := order.Payee.Number.Normalize().IBAN
	t := transfer{
		Instruction: id, EndToEnd: id,
		Amount:     instructedAmount{order.Amount.Currency, formatAmount(order.Amount)},
		Creditor:   creditor{singleLine(order.Payee.Beneficiary.Name), order.Payee.Beneficiary.Country},
		Account:    accountOf(number.IBAN),
		Remittance: strings.ReplaceAll(order.PayoutID, "_", "-"), // the SEPA character set has no underscore
	}
	if number.BIC != "" {
		t.Agent = &creditorAgent{number.BIC}
	}
	return t
}

// formatAmount formats money as a decimal of its currency, with integer arithmetic only.
func formatAmount(m money.Money) string {
	return m.Decimal().Shift(-money.Digits(m.Currency)).StringFixed(money.Digits(m.Currency))
}

// singleLine returns a name on one line. The bank transliterates characters it does not
// support: the account number determines the payee.
func singleLine(name string) string { return strings.Join(strings.Fields(name), " ") }
