package account

import (
	"fmt"
	"log/slog"
)

// AccountType is the kind of a United States account; ACH entries carry it in their
// transaction code.
type AccountType string

const (
	// Checking is a current account.
	Checking AccountType = "checking"
	// Savings is a deposit account.
	Savings AccountType = "savings"
)

// USBankAccount is an account at a bank in the United States.
type USBankAccount struct {
	RoutingNumber string      `json:"routing_number"` // nine digits, ABA
	AccountNumber string      `json:"account_number"` // 4 to 17 digits
	AccountType   AccountType `json:"account_type"`
}

// Format hides the number from package fmt; see Number.Format.
func (u USBankAccount) Format(state fmt.State, verb rune) { u.toNumber().Format(state, verb) }

// LogValue hides the number from logs.
func (u USBankAccount) LogValue() slog.Value { return u.toNumber().LogValue() }

func (u USBankAccount) toNumber() Number { return Number{Type: TypeUSBankAccount, USBankAccount: &u} }

func (u USBankAccount) validate() []Problem {
	var problems []Problem
	add := func(member, code, detail string) {
		problems = append(problems, Problem{"/us_bank_account/" + member, code, detail})
	}
	switch routing := u.RoutingNumber; {
	case routing == "":
		add("routing_number", "required", "An ABA routing number.")
	case len(routing) != 9 || !allBytes(routing, isDigit):
		add("routing_number", "format", "An ABA routing number has nine digits.")
	case !validRouting(routing):
		add("routing_number", "checksum", "Its check digit does not match; a digit is probably mistyped.")
	}
	switch account := u.AccountNumber; {
	case account == "":
		add("account_number", "required", "An account number.")
	case !allBytes(account, isDigit):
		add("account_number", "format", "An account number consists of digits.")
	case len(account) < 4 || len(account) > 17:
		add("account_number", "length", fmt.Sprintf("An account number has 4 to 17 digits; this one has %d.", len(account)))
	}
	switch u.AccountType {
	case Checking, Savings:
	case "":
		add("account_type", "required", "One of checking, savings.")
	default:
		add("account_type", "unknown", "One of checking, savings.")
	}
	return problems
}

// validRouting applies the ABA check: the digits weighted 3, 7, 1, 3, 7, 1, …
// sum to a multiple of ten, and the first two name a Federal Reserve district
// (01–12, thrift 21–32, electronic 61–72), the Treasury (00) or cheques (80).
func validRouting(routing string) bool {
	weights := [3]int{3, 7, 1}
	sum := 0
	for i := range len(routing) {
		sum += weights[i%3] * int(routing[i]-'0')
	}
	district := int(routing[0]-'0')*10 + int(routing[1]-'0')
	inUse := district <= 12 || 21 <= district && district <= 32 || 61 <= district && district <= 72 || district == 80
	return sum > 0 && sum%10 == 0 && inUse
}

func (u USBankAccount) canonicalForm() string { return u.RoutingNumber + "/" + u.AccountNumber }

// institutionName is empty: only the routing number identifies the bank, and it is never
// shown.
func (u USBankAccount) institutionName() string { return "" }

func (u USBankAccount) countryCode() string { return "US" }
