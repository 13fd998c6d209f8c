package iso20022_test

import (
	"bytes"
	_ "embed"
	"errors"
	"flag"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"parapet/jobs/rail"
	"parapet/jobs/rail/bankfile"
	"parapet/jobs/rail/iso20022"
	"parapet/model/account"
	"parapet/model/money"
)

const key = "pol_01jd8mvkq3ex9b6r5vffh3f2gh.0123456789abcdef.1"

var debtor = iso20022.Debtor{Name: "Parapet SE", ID: "C-77", IBAN: "DE89 3704 0044 0532 0130 00", BIC: "COBADEFFXXX"}

func newFormat(t *testing.T, currencies ...string) *iso20022.Format {
	t.Helper()
	f, err := iso20022.New(debtor, currencies)
	require.NoError(t, err)
	return f
}

func newOrder(key string, amount int64, currency, bic string) rail.Instruction {
	return rail.Instruction{Key: key, PayoutID: "pay_01jd8mvkq3ex9b6r5vffh3f2gk", Amount: money.New(amount, currency), Payee: rail.Payee{
		Beneficiary: account.Beneficiary{Name: "Lin & <Mei>\nhua", Country: "TW"},
		Number:      account.Number{Type: account.TypeIBAN, IBAN: &account.IBAN{IBAN: "GB29NWBK60161331926819", BIC: bic}},
	}}
}

func newFile(orders ...rail.Instruction) bankfile.PaymentFile {
	return bankfile.PaymentFile{ID: "PPT-20261121-0A1B2C3D4E5F", CreatedAt: time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC), Orders: orders}
}

// update rewrites testdata.
var update = flag.Bool("update", false, "write the golden files")

// requireGolden compares a file with the committed one, which make test/interop validates
// against the schema of ISO 20022.
func requireGolden(t *testing.T, name, text string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
	}
	require.Equal(t, readSample(t, name), text)
}

func readSample(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name))
	require.NoError(t, err)
	return string(text)
}

func TestTransfersAreGolden(t *testing.T) {
	t.Parallel()
	longest := newOrder("pol_01jd8mvkq3ex9b6r5vffh3f2gj.0123456789abcdef.1234", 999_999_999_999_99, "EUR", "NWBKGB2LXXX")
	longest.Payee.Beneficiary.Name = strings.Repeat("ÅŁé旅館 & <Co> ", 10)
	for name, test := range map[string]struct {
		debtor   iso20022.Debtor
		currency string
		orders   []rail.Instruction
	}{
		"euro":             {debtor, "EUR", []rail.Instruction{newOrder(key, 123456, "EUR", ""), newOrder("pol_01jd8mvkq3ex9b6r5vffh3f2gj.0123456789abcdef.12", 1, "EUR", "NWBKGB2L")}},
		"no-minor-unit":    {debtor, "JPY", []rail.Instruction{newOrder(key, 500, "JPY", "")}},
		"three-of-a-minor": {debtor, "KWD", []rail.Instruction{newOrder(key, 1, "KWD", "")}},
		"least":            {iso20022.Debtor{Name: "P", IBAN: debtor.IBAN}, "EUR", []rail.Instruction{newOrder("k", 1, "EUR", "")}},
		"longest":          {iso20022.Debtor{Name: strings.Repeat("P", 140), ID: strings.Repeat("7", 35), IBAN: debtor.IBAN, BIC: debtor.BIC}, "EUR", []rail.Instruction{longest}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f, err := iso20022.New(test.debtor, []string{test.currency})
			require.NoError(t, err)
			for _, order := range test.orders {
				require.Empty(t, f.RefusalCode(order))
			}
			var text, again bytes.Buffer
			require.NoError(t, f.Write(&text, newFile(test.orders...)))
			require.NoError(t, f.Write(&again, newFile(test.orders...)))
			require.Equal(t, text.String(), again.String(), "written again it has the same bytes")
			requireGolden(t, "pain.001-"+name+".xml", text.String())
		})
	}
	require.Error(t, newFormat(t).Write(io.Discard, newFile()))
}

func TestWhatCannotGoIntoAFileIsRefused(t *testing.T) {
	t.Parallel()
	f := newFormat(t)
	require.Empty(t, f.RefusalCode(newOrder(key, 1, "EUR", "")))
	us := newOrder(key, 1, "EUR", "")
	us.Payee.Number = account.Number{Type: account.TypeUSBankAccount, USBankAccount: &account.USBankAccount{RoutingNumber: "021000021", AccountNumber: "12345", AccountType: account.Checking}}
	require.Equal(t, rail.CodeInvalid, f.RefusalCode(us))
	require.Equal(t, rail.CodeCurrencyUnsupported, f.RefusalCode(newOrder(key, 1, "USD", "")))
	require.Equal(t, rail.CodeAmountInvalid, f.RefusalCode(newOrder(key, 0, "EUR", "")))
	require.Equal(t, rail.CodeAmountInvalid, f.RefusalCode(newOrder(key, 1_000_000_000_000_000_000, "EUR", "")), "more digits than an amount has")
	_, err := iso20022.New(iso20022.Debtor{Name: "x", IBAN: "DE00"}, nil)
	require.ErrorContains(t, err, "the paying account")
	_, err = iso20022.New(iso20022.Debtor{IBAN: "DE89370400440532013000"}, nil)
	require.ErrorContains(t, err, "name is missing")
	_, err = iso20022.New(iso20022.Debtor{Name: strings.Repeat("P", 141), IBAN: debtor.IBAN}, nil)
	require.ErrorContains(t, err, "at most 140 letters")
	_, err = iso20022.New(iso20022.Debtor{Name: "P", ID: strings.Repeat("7", 36), IBAN: debtor.IBAN}, nil)
	require.ErrorContains(t, err, "35")
}

func readLines(t *testing.T, text string) (lines []rail.Line, err error) {
	t.Helper()
	err = newFormat(t).Read(strings.NewReader(text), func(line rail.Line) error {
		lines = append(lines, line)
		return nil
	})
	return lines, err
}

// status returns a bank's status report, and booked a statement, in the form of their
// schemas.
var (
	//go:embed testdata/pain.002.xml
	status string
	//go:embed testdata/camt.053.xml
	booked string
)

var day = time.Date(2026, 11, 22, 0, 0, 0, 0, time.UTC)

func TestStatusReports(t *testing.T) {
	t.Parallel()
	lines, err := readLines(t, status)
	require.NoError(t, err)
	require.Equal(t, []rail.Line{
		{Key: "01jd8mvkq3ex9b6r5vffh3f2ga-0000000a", Reference: "s1", Amount: money.New(1250, "EUR"), Status: rail.Rejected, Code: "AC04", Date: day},
		{Key: "01jd8mvkq3ex9b6r5vffh3f2gb-0000000b", Reference: "R2", Status: rail.InFlight, Date: day},
		{Key: "01jd8mvkq3ex9b6r5vffh3f2gc-0000000c", Reference: "s3", Status: rail.InFlight, Date: day},
	}, lines)
	whole := strings.Replace(status[:strings.Index(status, "<OrgnlPmtInfAndSts>")], "PART", "RJCT", 1) + "</CstmrPmtStsRpt></Document>"
	lines, err = readLines(t, whole)
	require.NoError(t, err)
	require.Equal(t, []rail.Line{{Reference: "PPT-1", Status: rail.Rejected, Date: day}}, lines, "the whole file")
	for name, text := range map[string]string{
		"at every level":         strings.Replace(status, "PART", "RJCT", 1),
		"in its block":           strings.Replace(status, "</OrgnlPmtInfId>", "</OrgnlPmtInfId><PmtInfSts>RJCT</PmtInfSts>", 1),
		"in its block, unlisted": unlisted(strings.Replace(status, "</OrgnlPmtInfId>", "</OrgnlPmtInfId><PmtInfSts>RJCT</PmtInfSts>", 1)),
	} {
		lines, err = readLines(t, text)
		require.NoError(t, err)
		require.Equal(t, []rail.Line{{Reference: "PPT-1", Status: rail.Rejected, Date: day}}, lines, "each payment is refused once: %s", name)
	}
	lines, err = readLines(t, strings.NewReplacer("<TxSts>ACSP</TxSts>", "", "<OrgnlEndToEndId>01jd8mvkq3ex9b6r5vffh3f2gc-0000000c</OrgnlEndToEndId>", "<OrgnlInstrId>01jd8mvkq3ex9b6r5vffh3f2gc-0000000c</OrgnlInstrId>").Replace(status))
	require.NoError(t, err)
	require.Equal(t, rail.Line{Key: "01jd8mvkq3ex9b6r5vffh3f2gc-0000000c", Reference: "s3", Status: rail.InFlight, Date: day}, lines[2], "what is not said of a payment is said of all")
}

// unlisted removes the payments from a status report.
func unlisted(text string) string {
	from, to := strings.Index(text, "<TxInfAndSts>"), strings.LastIndex(text, "</TxInfAndSts>")+len("</TxInfAndSts>")
	return text[:from] + text[to:]
}

func TestStatements(t *testing.T) {
	t.Parallel()
	lines, err := readLines(t, booked)
	require.NoError(t, err)
	require.Equal(t, []rail.Line{
		{Key: "01jd8mvkq3ex9b6r5vffh3f2ga-0000000a", Reference: "E1", Amount: money.New(6000, "EUR"), Status: rail.Settled, Date: day},
		{Key: "01jd8mvkq3ex9b6r5vffh3f2gb-0000000b", Reference: "T2", Amount: money.New(4000, "EUR"), Status: rail.Settled, Date: day},
		{Key: "01jd8mvkq3ex9b6r5vffh3f2gc-0000000c", Reference: "E2", Amount: money.New(1250, "EUR"), Status: rail.Returned, Code: "AC04", Date: day},
		{Reference: "PPT-1", Amount: money.New(300, "EUR"), Status: rail.Settled, Date: day},
	}, lines)
}

// TestOnlyWhatIsBookedMovedMoney changes one entry of the statement: money that was
// returned, and money that was paid.
func TestOnlyWhatIsBookedMovedMoney(t *testing.T) {
	t.Parallel()
	const out, back = 0, 1
	change := func(entry int, old, by string) string {
		parts := strings.SplitAfter(booked, "</Ntry>")
		require.Contains(t, parts[entry], old)
		parts[entry] = strings.Replace(parts[entry], old, by, 1)
		return strings.Join(parts, "")
	}
	for name, test := range map[string]struct {
		entry   int
		old, by string
		status  rail.LineStatus // empty: absent
	}{
		"a return for information":    {back, "<Cd>BOOK", "<Cd>INFO", ""},
		"a return that is announced":  {back, "<Cd>BOOK", "<Cd>PDNG", ""},
		"a return without a reason":   {back, "<RtrInf><Rsn><Cd>AC04</Cd></Rsn></RtrInf>", "", rail.Returned},
		"a payment for information":   {out, "<Cd>BOOK", "<Cd>INFO", ""},
		"a payment of tomorrow":       {out, "<Cd>BOOK", "<Cd>FUTR", rail.InFlight},
		"a payment without its day":   {out, "<Cd>BOOK</Cd></Sts><BookgDt><Dt>2026-11-22</Dt></BookgDt>", "<Cd>PDNG</Cd></Sts>", rail.InFlight},
		"a return that was undone":    {back, "<CdtDbtInd>CRDT</CdtDbtInd>", "<CdtDbtInd>DBIT</CdtDbtInd><RvslInd>true</RvslInd>", rail.Settled},
		"a payment that was reversed": {out, "<CdtDbtInd>DBIT</CdtDbtInd>", "<CdtDbtInd>CRDT</CdtDbtInd><RvslInd>true</RvslInd>", rail.Returned},
	} {
		lines, err := readLines(t, change(test.entry, test.old, test.by))
		require.NoError(t, err, name)
		key := map[int]string{out: "01jd8mvkq3ex9b6r5vffh3f2ga-0000000a", back: "01jd8mvkq3ex9b6r5vffh3f2gc-0000000c"}[test.entry]
		at := slices.IndexFunc(lines, func(l rail.Line) bool { return l.Key == key })
		require.Equal(t, test.status != "", at >= 0, name)
		if at >= 0 {
			require.Equal(t, test.status, lines[at].Status, name)
		}
	}
	lines, err := readLines(t, strings.NewReplacer("<AcctSvcrRef>E4</AcctSvcrRef>", "", "<NtryDtls><Btch><PmtInfId>PPT-1</PmtInfId></Btch></NtryDtls>", "").Replace(booked))
	require.NoError(t, err)
	require.Equal(t, "entry 4", lines[3].Reference, "a fee that the bank gave no name")
}

func TestBrokenFilesAreRefusedWhole(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"cut short":        booked[:len(booked)-30],
		"empty":            "",
		"not XML":          "%PDF-1.7",
		"another message":  strings.ReplaceAll(booked, "camt.053", "camt.052"),
		"a page":           strings.Replace(booked, "<LastPgInd>true", "<LastPgInd>false", 1),
		"another count":    strings.Replace(booked, "<NbOfNtries>4", "<NbOfNtries>5", 1),
		"another sum":      strings.Replace(booked, "<Sum>145.50", "<Sum>145.51", 1),
		"parts not whole":  strings.Replace(booked, `<Amt Ccy="EUR">60.00`, `<Amt Ccy="EUR">61.00`, 1),
		"too many digits":  strings.Replace(booked, `<Amt Ccy="EUR">60.00`, `<Amt Ccy="EUR">60.001`, 1),
		"no currency":      strings.Replace(booked, `<Amt Ccy="EUR">60.00`, `<Amt>60.00`, 1),
		"an exponent":      strings.Replace(booked, `>3.00<`, `>3e999999999<`, 1),
		"a sum of powers":  strings.Replace(booked, "<Sum>145.50", "<Sum>1e999999999", 1),
		"negative":         strings.Replace(booked, `>3.00<`, `>-3.00<`, 1),
		"no day":           strings.Replace(booked, "<BookgDt><Dt>2026-11-22</Dt></BookgDt><AcctSvcrRef>E4", "<AcctSvcrRef>E4", 1),
		"a document type":  strings.Replace(booked, "?>", `?><!DOCTYPE x [<!ENTITY a "b">]>`, 1),
		"a status no id":   strings.Replace(status, "<OrgnlEndToEndId>01jd8mvkq3ex9b6r5vffh3f2ga-0000000a</OrgnlEndToEndId>", "", 1),
		"status of no one": strings.NewReplacer("OrgnlGrpInfAndSts", "Other").Replace(status),
	} {
		_, err := readLines(t, text)
		require.ErrorIs(t, err, rail.ErrInvalidReport, name)
	}
	stop := errors.New("stop")
	require.ErrorIs(t, newFormat(t).Read(strings.NewReader(booked), func(rail.Line) error { return stop }), stop)
}
