package iso20022_test

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
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

const key = "pay_01jd8mvkq3ex9b6r5vffh3f2gh.1"

func format(t *testing.T, currencies ...string) *iso20022.Format {
	t.Helper()
	f, err := iso20022.New(iso20022.Debtor{Name: "Parapet SE", ID: "C-77", IBAN: "DE89 3704 0044 0532 0130 00", BIC: "COBADEFFXXX"}, currencies)
	require.NoError(t, err)
	return f
}

func order(key string, amount int64, currency, bic string) rail.Instruction {
	return rail.Instruction{Key: key, PayoutID: strings.TrimSuffix(key, ".1"), Amount: money.New(amount, currency), Payee: rail.Payee{
		Beneficiary: account.Beneficiary{Name: "Lin & <Mei>\nhua", Country: "TW"},
		Number:      account.Number{Type: account.TypeIBAN, IBAN: &account.IBAN{IBAN: "GB29NWBK60161331926819", BIC: bic}},
	}}
}

func batch(orders ...rail.Instruction) bankfile.Batch {
	return bankfile.Batch{ID: "PPT-20261121-0A1B2C3D4E5F", CreatedAt: time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC), Orders: orders}
}

// The sequences of pain.001.001.09 around what is written, as published; a star
// marks what must be there.
var sequences = map[string]string{
	"Document":         "*CstmrCdtTrfInitn",
	"CstmrCdtTrfInitn": "*GrpHdr *PmtInf SplmtryData",
	"GrpHdr":           "*MsgId *CreDtTm Authstn *NbOfTxs CtrlSum *InitgPty FwdgAgt",
	"InitgPty":         "Nm PstlAdr Id CtryOfRes CtctDtls",
	"PmtInf": "*PmtInfId *PmtMtd BtchBookg NbOfTxs CtrlSum PmtTpInf *ReqdExctnDt PoolgAdjstmntDt *Dbtr *DbtrAcct *DbtrAgt DbtrAgtAcct " +
		"InstrForDbtrAgt UltmtDbtr ChrgBr ChrgsAcct ChrgsAcctAgt *CdtTrfTxInf",
	"PmtTpInf": "InstrPrty SvcLvl LclInstrm CtgyPurp", "SvcLvl": "*Cd", "ReqdExctnDt": "*Dt",
	"Dbtr": "Nm PstlAdr Id CtryOfRes CtctDtls", "Cdtr": "Nm PstlAdr Id CtryOfRes CtctDtls",
	"DbtrAcct": "*Id Tp Ccy Nm Prxy", "CdtrAcct": "*Id Tp Ccy Nm Prxy", "DbtrAgt": "*FinInstnId BrnchId", "CdtrAgt": "*FinInstnId BrnchId",
	"FinInstnId": "BICFI ClrSysMmbId LEI Nm PstlAdr Othr", "OrgId": "AnyBIC LEI Othr", "Othr": "*Id SchmeNm Issr",
	"CdtTrfTxInf": "*PmtId PmtTpInf *Amt XchgRateInf ChrgBr MndtRltdInf ChqInstr UltmtDbtr IntrmyAgt1 IntrmyAgt1Acct IntrmyAgt2 IntrmyAgt2Acct " +
		"IntrmyAgt3 IntrmyAgt3Acct CdtrAgt CdtrAgtAcct Cdtr CdtrAcct UltmtCdtr InstrForCdtrAgt InstrForDbtrAgt Purp RgltryRptg Tax RltdRmtInf RmtInf SplmtryData",
	"PmtId": "InstrId *EndToEndId UETR", "Amt": "*InstdAmt", "RmtInf": "Ustrd Strd",
	"PstlAdr": "AdrTp Dept SubDept StrtNm BldgNb BldgNm Flr PstBx Room PstCd TwnNm TwnLctnNm DstrctNm CtrySubDvsn Ctry AdrLine",
	"Id":      "OrgId PrvtId IBAN Othr",
}

// What the leaves may hold.
var leaves = map[string]string{
	"MsgId": `.{1,35}`, "PmtInfId": `.{1,35}`, "InstrId": `[A-Za-z0-9/?:().,'+ -]{1,35}`, "EndToEndId": `[A-Za-z0-9/?:().,'+ -]{1,35}`,
	"CreDtTm": `\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z`, "Dt": `\d{4}-\d\d-\d\d`, "NbOfTxs": `[0-9]{1,15}`, "CtrlSum": `\d{1,13}(\.\d{1,5})?`,
	"InstdAmt": `\d{1,13}(\.\d{1,5})?`, "PmtMtd": `TRF`, "BtchBookg": `true|false`, "Cd": `SEPA`, "ChrgBr": `SLEV|SHAR`, "Nm": `.{1,140}`, "Ctry": `[A-Z]{2}`,
	"IBAN": `[A-Z]{2}[0-9]{2}[a-zA-Z0-9]{1,30}`, "BICFI": `[A-Z0-9]{4}[A-Z]{2}[A-Z0-9]{2}([A-Z0-9]{3})?`, "Ustrd": `.{1,140}`, "Id": `.{1,35}`,
}

type node struct {
	XMLName xml.Name `xml:""`
	Text    string   `xml:",chardata"`
	Nodes   []node   `xml:",any"`
}

// valid holds an element against the published structure.
func valid(t *testing.T, n node) {
	t.Helper()
	name := n.XMLName.Local
	require.Equal(t, "urn:iso:std:iso:20022:tech:xsd:pain.001.001.09", n.XMLName.Space, name)
	if len(n.Nodes) == 0 {
		require.Contains(t, leaves, name)
		require.Regexp(t, `^(?:`+leaves[name]+`)$`, n.Text, name)
		return
	}
	require.Contains(t, sequences, name)
	allowed := strings.Fields(sequences[name])
	at := 0
	for _, child := range n.Nodes {
		for at < len(allowed) && strings.TrimPrefix(allowed[at], "*") != child.XMLName.Local {
			at++
		}
		require.Less(t, at, len(allowed), "%s stands in %s out of its order", child.XMLName.Local, name)
		valid(t, child)
	}
	for _, must := range allowed {
		if child, required := strings.CutPrefix(must, "*"); required {
			require.True(t, slices.ContainsFunc(n.Nodes, func(n node) bool { return n.XMLName.Local == child }), "%s lacks %s", name, child)
		}
	}
}

func TestTransfersFollowThePublishedStructure(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		currency string
		orders   []rail.Instruction
		has      []string
	}{
		"euro": {"EUR", []rail.Instruction{order(key, 123456, "EUR", ""), order("pay_01jd8mvkq3ex9b6r5vffh3f2gj.12", 1, "EUR", "NWBKGB2L")}, []string{
			"<CtrlSum>1234.57</CtrlSum>", `<InstdAmt Ccy="EUR">0.01</InstdAmt>`, "<Cd>SEPA</Cd>", "<ChrgBr>SLEV</ChrgBr>", "<NbOfTxs>2</NbOfTxs>",
			"<EndToEndId>pay-01jd8mvkq3ex9b6r5vffh3f2gh.1</EndToEndId>", "<Nm>Lin &amp; &lt;Mei&gt; hua</Nm>", "<BICFI>NWBKGB2L</BICFI>",
			"<MsgId>PPT-20261121-0A1B2C3D4E5F</MsgId>", "<PmtInfId>PPT-20261121-0A1B2C3D4E5F</PmtInfId>",
		}},
		"no minor unit":    {"JPY", []rail.Instruction{order(key, 500, "JPY", "")}, []string{"<CtrlSum>500</CtrlSum>", "<ChrgBr>SHAR</ChrgBr>"}},
		"three of a minor": {"KWD", []rail.Instruction{order(key, 1, "KWD", "")}, []string{`<InstdAmt Ccy="KWD">0.001</InstdAmt>`}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := format(t, test.currency)
			var text, again bytes.Buffer
			require.NoError(t, f.Write(&text, batch(test.orders...)))
			require.NoError(t, f.Write(&again, batch(test.orders...)))
			require.Equal(t, text.String(), again.String(), "written again it has the same bytes")
			for _, part := range test.has {
				require.Contains(t, text.String(), part)
			}
			var root node
			require.NoError(t, xml.Unmarshal(text.Bytes(), &root))
			valid(t, root)
		})
	}
	require.Error(t, format(t).Write(io.Discard, batch()))
}

func TestWhatCannotGoIntoAFileIsRefused(t *testing.T) {
	t.Parallel()
	f := format(t)
	require.Empty(t, f.Refuse(order(key, 1, "EUR", "")))
	us := order(key, 1, "EUR", "")
	us.Payee.Number = account.Number{Type: account.TypeUSBankAccount, USBankAccount: &account.USBankAccount{RoutingNumber: "021000021", AccountNumber: "12345", AccountType: account.Checking}}
	require.Equal(t, rail.CodeInvalid, f.Refuse(us))
	require.Equal(t, rail.CodeCurrencyUnsupported, f.Refuse(order(key, 1, "USD", "")))
	require.Equal(t, rail.CodeAmountInvalid, f.Refuse(order(key, 0, "EUR", "")))
	require.Equal(t, rail.CodeInvalid, f.Refuse(order(key+"2345", 1, "EUR", "")), "longer than an end-to-end id")
	_, err := iso20022.New(iso20022.Debtor{Name: "x", IBAN: "DE00"}, nil)
	require.ErrorContains(t, err, "the paying account")
	_, err = iso20022.New(iso20022.Debtor{IBAN: "DE89370400440532013000"}, nil)
	require.ErrorContains(t, err, "name")
}

func read(t *testing.T, text string) (lines []rail.Line, err error) {
	t.Helper()
	err = format(t).Read(strings.NewReader(text), func(line rail.Line) error {
		lines = append(lines, line)
		return nil
	})
	return lines, err
}

const status = `<?xml version="1.0" encoding="UTF-8"?><Document xmlns="urn:iso:std:iso:20022:tech:xsd:pain.002.001.10"><CstmrPmtStsRpt>
<GrpHdr><MsgId>B1</MsgId><CreDtTm>2026-11-22T08:00:00+01:00</CreDtTm></GrpHdr>
<OrgnlGrpInfAndSts><OrgnlMsgId>PPT-1</OrgnlMsgId><OrgnlMsgNmId>pain.001.001.09</OrgnlMsgNmId><GrpSts>PART</GrpSts></OrgnlGrpInfAndSts>
<OrgnlPmtInfAndSts><OrgnlPmtInfId>PPT-1</OrgnlPmtInfId>
<TxInfAndSts><StsId>s1</StsId><OrgnlEndToEndId>pay-a.1</OrgnlEndToEndId><TxSts>RJCT</TxSts><StsRsnInf><Rsn><Cd>AC04</Cd></Rsn></StsRsnInf>
<OrgnlTxRef><Amt><InstdAmt Ccy="EUR">12.5</InstdAmt></Amt></OrgnlTxRef></TxInfAndSts>
<TxInfAndSts><OrgnlEndToEndId>pay-b.1</OrgnlEndToEndId><TxSts>ACSC</TxSts><AcctSvcrRef>R2</AcctSvcrRef></TxInfAndSts>
<TxInfAndSts><StsId>s3</StsId><OrgnlEndToEndId>pay-c.1</OrgnlEndToEndId><TxSts>ACSP</TxSts></TxInfAndSts>
</OrgnlPmtInfAndSts></CstmrPmtStsRpt></Document>`

var day = time.Date(2026, 11, 22, 0, 0, 0, 0, time.UTC)

func TestStatusReports(t *testing.T) {
	t.Parallel()
	lines, err := read(t, status)
	require.NoError(t, err)
	require.Equal(t, []rail.Line{
		{Key: "pay_a.1", Reference: "s1", Amount: money.New(1250, "EUR"), Status: rail.Rejected, Code: "AC04", Date: day},
		{Key: "pay_b.1", Reference: "R2", Status: rail.Settled, Date: day},
		{Key: "pay_c.1", Reference: "s3", Status: rail.Underway, Date: day},
	}, lines)
	whole := strings.Replace(status[:strings.Index(status, "<OrgnlPmtInfAndSts>")], "PART", "RJCT", 1) + "</CstmrPmtStsRpt></Document>"
	lines, err = read(t, whole)
	require.NoError(t, err)
	require.Equal(t, []rail.Line{{Reference: "PPT-1", Status: rail.Rejected, Date: day}}, lines, "the whole file")
}

const booked = `<?xml version="1.0" encoding="UTF-8"?><Document xmlns="urn:iso:std:iso:20022:tech:xsd:camt.053.001.08"><BkToCstmrStmt>
<GrpHdr><MsgId>S1</MsgId><CreDtTm>2026-11-22T20:00:00Z</CreDtTm><MsgPgntn><PgNb>1</PgNb><LastPgInd>true</LastPgInd></MsgPgntn></GrpHdr>
<Stmt><Id>1</Id><Acct><Id><IBAN>DE89370400440532013000</IBAN></Id></Acct><TxsSummry><TtlNtries><NbOfNtries>4</NbOfNtries><Sum>145.50</Sum></TtlNtries></TxsSummry>
<Ntry><Amt Ccy="EUR">100.00</Amt><CdtDbtInd>DBIT</CdtDbtInd><Sts><Cd>BOOK</Cd></Sts><BookgDt><Dt>2026-11-22</Dt></BookgDt><AcctSvcrRef>E1</AcctSvcrRef>
<NtryDtls><TxDtls><Refs><EndToEndId>pay-a.1</EndToEndId></Refs><Amt Ccy="EUR">60.00</Amt></TxDtls><TxDtls><Refs><AcctSvcrRef>T2</AcctSvcrRef><EndToEndId>pay-b.1</EndToEndId></Refs><Amt Ccy="EUR">40.00</Amt></TxDtls></NtryDtls></Ntry>
<Ntry><Amt Ccy="EUR">12.50</Amt><CdtDbtInd>CRDT</CdtDbtInd><Sts><Cd>BOOK</Cd></Sts><BookgDt><DtTm>2026-11-22T11:00:00Z</DtTm></BookgDt><AcctSvcrRef>E2</AcctSvcrRef>
<NtryDtls><TxDtls><Refs><EndToEndId>pay-c.1</EndToEndId></Refs><RtrInf><Rsn><Cd>AC04</Cd></Rsn></RtrInf></TxDtls></NtryDtls></Ntry>
<Ntry><Amt Ccy="EUR">30.00</Amt><CdtDbtInd>CRDT</CdtDbtInd><Sts><Cd>BOOK</Cd></Sts><BookgDt><Dt>2026-11-22</Dt></BookgDt><AcctSvcrRef>E3</AcctSvcrRef></Ntry>
<Ntry><Amt Ccy="EUR">3.00</Amt><CdtDbtInd>DBIT</CdtDbtInd><Sts><Cd>BOOK</Cd></Sts><BookgDt><Dt>2026-11-22</Dt></BookgDt><AcctSvcrRef>E4</AcctSvcrRef><NtryDtls><Btch><PmtInfId>PPT-1</PmtInfId></Btch></NtryDtls></Ntry>
</Stmt></BkToCstmrStmt></Document>`

func TestStatements(t *testing.T) {
	t.Parallel()
	lines, err := read(t, booked)
	require.NoError(t, err)
	require.Equal(t, []rail.Line{
		{Key: "pay_a.1", Reference: "E1", Amount: money.New(6000, "EUR"), Status: rail.Settled, Date: day},
		{Key: "pay_b.1", Reference: "T2", Amount: money.New(4000, "EUR"), Status: rail.Settled, Date: day},
		{Key: "pay_c.1", Reference: "E2", Amount: money.New(1250, "EUR"), Status: rail.Returned, Code: "AC04", Date: day},
		{Reference: "PPT-1", Amount: money.New(300, "EUR"), Status: rail.Settled, Date: day},
	}, lines)
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
		"negative":         strings.Replace(booked, `>3.00<`, `>-3.00<`, 1),
		"no day":           strings.Replace(booked, "<BookgDt><Dt>2026-11-22</Dt></BookgDt><AcctSvcrRef>E4", "<AcctSvcrRef>E4", 1),
		"a document type":  strings.Replace(booked, "?>", `?><!DOCTYPE x [<!ENTITY a "b">]>`, 1),
		"a status no id":   strings.Replace(status, "<OrgnlEndToEndId>pay-a.1</OrgnlEndToEndId>", "", 1),
		"status of no one": strings.NewReplacer("OrgnlGrpInfAndSts", "Other").Replace(status),
	} {
		_, err := read(t, text)
		require.ErrorIs(t, err, rail.ErrBroken, name)
	}
	stop := errors.New("stop")
	require.ErrorIs(t, format(t).Read(strings.NewReader(booked), func(rail.Line) error { return stop }), stop)
}
