package nacha_test

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/moov-io/ach"
	"github.com/stretchr/testify/require"

	"parapet/jobs/rail"
	"parapet/jobs/rail/bankfile"
	"parapet/jobs/rail/nacha"
	"parapet/model/account"
	"parapet/model/money"
)

func newFormat(t *testing.T) *nacha.Format {
	t.Helper()
	f, err := nacha.New(nacha.Originator{Name: "Parapet Inc", ID: "1234567890", Routing: "021000021", Bank: "First Bank"})
	require.NoError(t, err)
	return f
}

func newOrder(key string, amount int64, kind account.AccountType) rail.Instruction {
	return rail.Instruction{Key: key, PayoutID: "pay_1", Amount: money.New(amount, "USD"), Payee: rail.Payee{
		Beneficiary: account.Beneficiary{Name: "Zoë Müller-Lüdenscheidt the Third", Country: "US"},
		Number: account.Number{Type: account.TypeUSBankAccount, USBankAccount: &account.USBankAccount{
			RoutingNumber: "011401533", AccountNumber: "000123456789", AccountType: kind,
		}},
	}}
}

func newFile() bankfile.PaymentFile {
	return bankfile.PaymentFile{
		ID: "PPT-20261121-0A1B2C3D4E5F", Number: 3, CreatedAt: time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC), // a Friday
		Orders: []rail.Instruction{newOrder("pay_a.1", 123456, account.Checking), newOrder("pay_b.1", 1, account.Savings)},
	}
}

func writeFile(t *testing.T) []byte {
	t.Helper()
	var text bytes.Buffer
	require.NoError(t, newFormat(t).Write(&text, newFile()))
	return text.Bytes()
}

func TestAFileIsReadBackByTheLibrary(t *testing.T) {
	t.Parallel()
	text := writeFile(t)
	require.Equal(t, text, writeFile(t), "written again it has the same bytes")
	file, err := ach.NewReader(bytes.NewReader(text)).Read()
	require.NoError(t, err)
	require.NoError(t, file.Validate())
	require.Equal(t, 123457, file.Control.TotalCreditEntryDollarAmountInFile)
	require.Zero(t, file.Control.TotalDebitEntryDollarAmountInFile)
	require.Equal(t, "D", file.Header.FileIDModifier)
	require.Equal(t, "261123", file.Batches[0].GetHeader().EffectiveEntryDate, "the next day that banks work")
	entries := file.Batches[0].GetEntries()
	require.Len(t, entries, 2)
	require.Equal(t, ach.CheckingCredit, entries[0].TransactionCode)
	require.Equal(t, ach.SavingsCredit, entries[1].TransactionCode)
	require.Equal(t, bankfile.ShortID("pay_a.1"), strings.TrimSpace(entries[0].IdentificationNumber))
	require.Equal(t, "000123456789", strings.TrimSpace(entries[0].DFIAccountNumber))
	require.Equal(t, 123456, entries[0].Amount)
	require.NotEqual(t, entries[0].TraceNumber, entries[1].TraceNumber)
}

// sentBack returns the file of a bank about the first entry, with the addenda that mark
// makes from it.
func sentBack(t *testing.T, mark func(*ach.EntryDetail)) []byte {
	t.Helper()
	file, err := ach.NewReader(bytes.NewReader(writeFile(t))).Read()
	require.NoError(t, err)
	entry := file.Batches[0].GetEntries()[0]
	entry.AddendaRecordIndicator, entry.TransactionCode = 1, ach.CheckingReturnNOCCredit
	mark(entry)
	back, err := ach.NewBatch(file.Batches[0].GetHeader())
	require.NoError(t, err)
	back.AddEntry(entry)
	require.NoError(t, back.Create())
	out := ach.NewFile()
	out.SetHeader(file.Header)
	out.AddBatch(back)
	require.NoError(t, out.Create())
	var text bytes.Buffer
	require.NoError(t, ach.NewWriter(&text).Write(out))
	return text.Bytes()
}

func readReturns(t *testing.T) []byte {
	t.Helper()
	return sentBack(t, func(entry *ach.EntryDetail) {
		addenda := ach.NewAddenda99()
		addenda.ReturnCode, addenda.OriginalTrace, addenda.OriginalDFI, addenda.TraceNumber = "R03", entry.TraceNumber, "01140153", entry.TraceNumber
		entry.Addenda99, entry.Category = addenda, ach.CategoryReturn
	})
}

func TestUndoneReturnsAreRead(t *testing.T) {
	t.Parallel()
	dishonored := sentBack(t, func(entry *ach.EntryDetail) {
		addenda := ach.NewAddenda99Dishonored()
		addenda.DishonoredReturnReasonCode, addenda.OriginalEntryTraceNumber, addenda.OriginalReceivingDFIIdentification = "R68", entry.TraceNumber, "01140153"
		addenda.ReturnTraceNumber, addenda.ReturnSettlementDate, addenda.ReturnReasonCode, addenda.TraceNumber = entry.TraceNumber, "001", "03", entry.TraceNumber
		entry.Addenda99Dishonored, entry.Category = addenda, ach.CategoryDishonoredReturn
	})
	contested := sentBack(t, func(entry *ach.EntryDetail) {
		addenda := ach.NewAddenda99Contested()
		addenda.ContestedReturnCode, addenda.OriginalEntryTraceNumber, addenda.OriginalReceivingDFIIdentification = "R73", entry.TraceNumber, "01140153"
		addenda.DateOriginalEntryReturned, addenda.OriginalSettlementDate, addenda.ReturnTraceNumber, addenda.ReturnSettlementDate = "261120", "001", entry.TraceNumber, "002"
		addenda.ReturnReasonCode, addenda.DishonoredReturnTraceNumber, addenda.DishonoredReturnSettlementDate = "03", entry.TraceNumber, "003"
		addenda.DishonoredReturnReasonCode, addenda.TraceNumber = "68", entry.TraceNumber
		entry.Addenda99Contested, entry.Category = addenda, ach.CategoryDishonoredReturnContested
	})
	for code, file := range map[string][]byte{"R68": dishonored, "R73": contested} {
		var lines []rail.Line
		require.NoError(t, newFormat(t).Read(bytes.NewReader(file), func(line rail.Line) error { lines = append(lines, line); return nil }))
		require.Equal(t, []rail.Line{{
			Key: bankfile.ShortID("pay_a.1"), Reference: "021000020000001", Amount: money.New(123456, "USD"),
			Status: map[string]rail.LineStatus{"R68": rail.Settled, "R73": rail.Returned}[code], Code: code, Date: time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC),
		}}, lines, code)
	}
}

func TestReturnsAreRead(t *testing.T) {
	t.Parallel()
	var lines []rail.Line
	collect := func(line rail.Line) error { lines = append(lines, line); return nil }
	text := readReturns(t)
	require.NoError(t, newFormat(t).Read(bytes.NewReader(text), collect))
	require.Equal(t, []rail.Line{{
		Key: bankfile.ShortID("pay_a.1"), Reference: "021000020000001", Amount: money.New(123456, "USD"),
		Status: rail.Returned, Code: "R03", Date: time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC),
	}}, lines)
	for name, broken := range map[string][]byte{
		"cut short": text[:len(text)/2], "empty": nil, "garbage": []byte("%PDF"),
		"another sum": bytes.Replace(text, []byte("000000123456"), []byte("000000123457"), 1),
	} {
		require.ErrorIs(t, newFormat(t).Read(bytes.NewReader(broken), collect), rail.ErrInvalidReport, name)
	}
}

func TestWhatCannotGoIntoAFileIsRefused(t *testing.T) {
	t.Parallel()
	f := newFormat(t)
	good := newOrder("pay_a.1", 1, account.Checking)
	require.Empty(t, f.RefusalCode(good))
	require.Equal(t, rail.CodeAmountInvalid, f.RefusalCode(newOrder("pay_a.1", 1_000_000_000_00, account.Checking)))
	good.Amount = money.New(1, "EUR")
	require.Equal(t, rail.CodeCurrencyUnsupported, f.RefusalCode(good))
	good.Amount, good.Payee.Number = money.New(1, "USD"), account.Number{Type: account.TypeIBAN, IBAN: &account.IBAN{IBAN: "GB29NWBK60161331926819"}}
	require.Equal(t, rail.CodeInvalid, f.RefusalCode(good))
	for _, o := range []nacha.Originator{{}, {Name: "x", Bank: "y", Routing: "021000021", ID: "1"}, {Routing: "021000021", ID: "1234567890"}} {
		_, err := nacha.New(o)
		require.Error(t, err)
	}
}
