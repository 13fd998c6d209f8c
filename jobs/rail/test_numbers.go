package rail

import (
	"slices"
	"strings"

	"parapet/model/account"
)

// Behaviour is the simulator's behaviour for an account number.
type Behaviour string

const (
	// Accept verifies and pays at once. Every number not listed does so.
	Accept Behaviour = "accept"
	// RejectAtSend verifies, then refuses each payment definitely.
	RejectAtSend Behaviour = "reject_at_send"
	// RefuseVerification is an account that accepts no money.
	RefuseVerification Behaviour = "refuse_verification"
	// TimeOutAfterPaying pays, but the answer is lost; an inquiry returns the true
	// outcome.
	TimeOutAfterPaying Behaviour = "time_out_after_paying"
	// Slow pays at once and answers seconds later.
	Slow Behaviour = "slow"
	// ReturnAfterPaying pays; the report says that the money came back.
	ReturnAfterPaying Behaviour = "return_after_paying"
	// ReportOtherAmount pays; the report says another amount.
	ReportOtherAmount Behaviour = "report_other_amount"
)

// TestNumber is a valid account number with a documented behaviour. A US account matches
// with any routing number, a wallet with any provider.
type TestNumber struct {
	Behaviour Behaviour
	Type      account.Type
	Number    string // the IBAN, account number or MSISDN
}

func (t TestNumber) matchesAccount(kind account.Type, canonical string) bool {
	return kind == t.Type && canonical[strings.LastIndexAny(canonical, ":/")+1:] == t.Number
}

// TestNumbers lists the test numbers. They are whole numbers, not endings, because the
// check digits of an IBAN cannot be chosen freely.
func TestNumbers() []TestNumber { return slices.Clone(testNumbers) }

var testNumbers = []TestNumber{
	{Accept, account.TypeIBAN, "DE89370400440532013000"},
	{RejectAtSend, account.TypeIBAN, "DE41370400440000000001"},
	{RefuseVerification, account.TypeIBAN, "DE14370400440000000002"},
	{TimeOutAfterPaying, account.TypeIBAN, "DE84370400440000000003"},
	{Slow, account.TypeIBAN, "DE57370400440000000004"},
	{ReturnAfterPaying, account.TypeIBAN, "DE30370400440000000005"},
	{ReportOtherAmount, account.TypeIBAN, "DE03370400440000000006"},
	{Accept, account.TypeUSBankAccount, "000123456789"},
	{RejectAtSend, account.TypeUSBankAccount, "000000000001"},
	{RefuseVerification, account.TypeUSBankAccount, "000000000002"},
	{TimeOutAfterPaying, account.TypeUSBankAccount, "000000000003"},
	{Slow, account.TypeUSBankAccount, "000000000004"},
	{ReturnAfterPaying, account.TypeUSBankAccount, "000000000005"},
	{ReportOtherAmount, account.TypeUSBankAccount, "000000000006"},
	{Accept, account.TypeMobileMoney, "+254712345678"},
	{RejectAtSend, account.TypeMobileMoney, "+254700000001"},
	{RefuseVerification, account.TypeMobileMoney, "+254700000002"},
	{TimeOutAfterPaying, account.TypeMobileMoney, "+254700000003"},
	{Slow, account.TypeMobileMoney, "+254700000004"},
	{ReturnAfterPaying, account.TypeMobileMoney, "+254700000005"},
	{ReportOtherAmount, account.TypeMobileMoney, "+254700000006"},
}
