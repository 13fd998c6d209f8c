package account

import (
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
)

// Type is the kind of a number; it is the name of the request member that holds it.
type Type string

const (
	// TypeIBAN is an international bank account number, ISO 13616.
	TypeIBAN Type = "iban"
	// TypeUSBankAccount is an ABA routing number and an account number.
	TypeUSBankAccount Type = "us_bank_account"
	// TypeMobileMoney is a wallet at a mobile operator, identified by its telephone
	// number.
	TypeMobileMoney Type = "mobile_money"
)

// Types lists every type in the contract's order.
func Types() []Type { return []Type{TypeIBAN, TypeUSBankAccount, TypeMobileMoney} }

// Number is one account number in the request's form: the member named by Type is set,
// the others are nil.
type Number struct {
	Type          Type           `json:"type"`
	IBAN          *IBAN          `json:"iban,omitzero"`
	USBankAccount *USBankAccount `json:"us_bank_account,omitzero"`
	MobileMoney   *MobileMoney   `json:"mobile_money,omitzero"`
}

// Problem is one invalid member. Detail states what is valid and never contains the
// number.
type Problem struct {
	Pointer string // JSON pointer relative to the number: /iban/iban
	Code    string // required, not_allowed, unknown, format, length, checksum
	Detail  string
}

// numberDetails is implemented by each type of account number; receivers are
// normalized.
type numberDetails interface {
	validate() []Problem
	canonicalForm() string
	institutionName() string
	countryCode() string
}

// selectedDetails returns the normalized member that Type names, nil when it is missing.
func (n Number) selectedDetails() numberDetails {
	n = n.Normalize()
	switch {
	case n.Type == TypeIBAN && n.IBAN != nil:
		return *n.IBAN
	case n.Type == TypeUSBankAccount && n.USBankAccount != nil:
		return *n.USBankAccount
	case n.Type == TypeMobileMoney && n.MobileMoney != nil:
		return *n.MobileMoney
	default:
		return nil
	}
}

// Validate returns all problems at once, none for a valid number. Spaces and letter
// case are ignored; see Normalize.
func (n Number) Validate() []Problem {
	given := map[Type]bool{
		TypeIBAN: n.IBAN != nil, TypeUSBankAccount: n.USBankAccount != nil, TypeMobileMoney: n.MobileMoney != nil,
	}
	if _, known := given[n.Type]; !known {
		code := "unknown"
		if n.Type == "" {
			code = "required"
		}
		return append([]Problem{{"/type", code, "One of iban, us_bank_account, mobile_money."}}, n.validateGiven()...)
	}
	var problems []Problem
	for _, kind := range Types() {
		switch {
		case kind == n.Type && !given[kind]:
			problems = append(problems, Problem{"/" + string(kind), "required", fmt.Sprintf("Type %s needs the member %s.", kind, kind)})
		case kind != n.Type && given[kind]:
			problems = append(problems, Problem{"/" + string(kind), "not_allowed", fmt.Sprintf("Type %s takes the member %s only.", n.Type, n.Type)})
		}
	}
	if d := n.selectedDetails(); d != nil {
		problems = append(problems, d.validate()...)
	}
	return problems
}

// validateGiven returns the problems of all members that are set, for a number with an
// invalid type.
func (n Number) validateGiven() []Problem {
	var problems []Problem
	for _, kind := range Types() {
		n.Type = kind
		if d := n.selectedDetails(); d != nil {
			problems = append(problems, d.validate()...)
		}
	}
	return problems
}

// Normalize returns the number in the electronic form of banks: no spaces, capital
// letters (small letters for a provider). It corrects nothing else.
func (n Number) Normalize() Number {
	if n.IBAN != nil {
		n.IBAN = &IBAN{IBAN: upperWithoutSpaces(n.IBAN.IBAN), BIC: upperWithoutSpaces(n.IBAN.BIC)}
	}
	if us := n.USBankAccount; us != nil {
		n.USBankAccount = &USBankAccount{
			RoutingNumber: removeSpaces(us.RoutingNumber),
			AccountNumber: removeSpaces(us.AccountNumber),
			AccountType:   us.AccountType,
		}
	}
	if m := n.MobileMoney; m != nil {
		n.MobileMoney = &MobileMoney{MSISDN: removeSpaces(m.MSISDN), Provider: strings.ToLower(removeSpaces(m.Provider))}
	}
	return n
}

// Canonical returns a text that identifies the account: equal for two spellings of one
// account, different for two accounts. It is the secret input of a keyed fingerprint.
// It omits hints that do not change where money arrives (a BIC, the account type).
func (n Number) Canonical() string {
	if d := n.selectedDetails(); d != nil {
		return string(n.Type) + ":" + d.canonicalForm()
	}
	return ""
}

// Last4 returns the part of the number that may be shown: its last four characters,
// fewer if four would be more than half of it.
func (n Number) Last4() string {
	canonical := n.Canonical()
	_, number, _ := strings.Cut(canonical, ":")
	if _, account, found := strings.Cut(number, "/"); found {
		number = account
	}
	return number[len(number)-min(4, len(number)/2):]
}

// Institution returns the bank or operator that the number names and that may be shown:
// the BIC or bank letters of an IBAN, a wallet's provider. It may be empty.
func (n Number) Institution() string {
	if d := n.selectedDetails(); d != nil {
		return d.institutionName()
	}
	return ""
}

// Country returns the ISO 3166 country of the account, empty if the number does not
// name one (a mobile wallet).
func (n Number) Country() string {
	if d := n.selectedDetails(); d != nil {
		return d.countryCode()
	}
	return ""
}

// String returns the masked number: "iban ····3000".
func (n Number) String() string { return Masked(n.Type, n.Last4()) }

// Format hides the number from every verb of package fmt, %#v included.
func (n Number) Format(state fmt.State, _ rune) { _, _ = io.WriteString(state, n.String()) }

// LogValue hides the number from logs.
func (n Number) LogValue() slog.Value { return slog.StringValue(n.String()) }

// Masked returns the form of String for a number of which only the end is known.
func Masked(kind Type, end string) string { return string(kind) + maskSeparator + end }

const maskSeparator = " ····"

// IsMasked reports whether a text has the form of String, which shows only the end of a
// number.
func IsMasked(text string) bool {
	kind, end, masked := strings.Cut(text, maskSeparator)
	return masked && slices.Contains(Types(), Type(kind)) && len(end) <= 4
}

func upperWithoutSpaces(s string) string { return strings.ToUpper(removeSpaces(s)) }

// removeSpaces removes the spaces that group digits; Validate reports any other invalid
// character.
func removeSpaces(s string) string { return strings.ReplaceAll(s, " ", "") }

// allBytes reports whether s is not empty and all its bytes satisfy ok.
func allBytes(s string, ok func(byte) bool) bool {
	for i := range len(s) {
		if !ok(s[i]) {
			return false
		}
	}
	return s != ""
}

func isDigit(c byte) bool        { return '0' <= c && c <= '9' }
func isLetter(c byte) bool       { return 'A' <= c && c <= 'Z' }
func isAlphanumeric(c byte) bool { return isDigit(c) || isLetter(c) }
