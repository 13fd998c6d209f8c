package iso20022

import (
	"cmp"
	"encoding/xml"
	"fmt"
	"strings"

	"github.com/shopspring/decimal"

	"parapet/jobs/rail"
	"parapet/jobs/rail/bankfile"
	"parapet/model/money"
)

// statement reads camt.053: the bookings of our account.
type statement struct {
	entries int
	sum     decimal.Decimal
	summary *totalXML
}

type totalXML struct {
	Count string `xml:"NbOfNtries"`
	Sum   string `xml:"Sum"`
}

type entryXML struct {
	Amount    amountXML `xml:"Amt"`
	Direction string    `xml:"CdtDbtInd"`
	Reversal  string    `xml:"RvslInd"`
	Status    struct {
		Code string `xml:"Cd"`
		Text string `xml:",chardata"`
	} `xml:"Sts"`
	Booked    dateXML     `xml:"BookgDt"`
	Reference string      `xml:"AcctSvcrRef"`
	Own       string      `xml:"NtryRef"` // the entry's id in its account, where the bank gives only that
	Details   []detailXML `xml:"NtryDtls"`
}

type detailXML struct {
	Batch struct {
		Info    string `xml:"PmtInfId"`
		Message string `xml:"MsgId"`
	} `xml:"Btch"`
	Each []bookingXML `xml:"TxDtls"`
}

type bookingXML struct {
	EndToEnd  string     `xml:"Refs>EndToEndId"`
	Reference string     `xml:"Refs>AcctSvcrRef"`
	Amount    *amountXML `xml:"Amt"`
	Old       *amountXML `xml:"AmtDtls>TxAmt>Amt"` // where 001.02 to 001.07 have it
	Return    *reasonXML `xml:"RtrInf"`
}

func (*statement) isPart(name string) bool {
	return name == "LastPgInd" || name == "Acct" || name == "TtlNtries" || name == "Ntry"
}

func (s *statement) readPart(d *xml.Decoder, start xml.StartElement, each func(rail.Line) error) error {
	switch start.Name.Local {
	case "LastPgInd":
		var last string
		if err := decodeElement(d, start, &last); err != nil {
			return err
		}
		if strings.TrimSpace(last) != "true" && strings.TrimSpace(last) != "1" {
			return invalidReport("it is one page of several: join them first")
		}
		return nil
	case "Acct": // once per statement, before its summary and its entries
		if err := s.checkEnd(); err != nil {
			return err
		}
		*s = statement{}
		return decodeElement(d, start, &struct{}{})
	case "TtlNtries":
		s.summary = new(totalXML)
		return decodeElement(d, start, s.summary)
	default:
		var entry entryXML
		if err := decodeElement(d, start, &entry); err != nil {
			return err
		}
		return s.reportEntry(entry, each)
	}
}

func (s *statement) reportEntry(e entryXML, each func(rail.Line) error) error {
	whole, err := e.Amount.toMoney()
	if err != nil {
		return err
	}
	s.entries++
	s.sum = s.sum.Add(whole.Decimal().Shift(-money.Digits(whole.Currency)))
	day, err := e.Booked.parseDay()
	if err != nil && e.isBooked() {
		return err
	}
	// Some banks give no name for a fee, but each line needs a distinct reference.
	e.Reference = cmp.Or(e.Reference, e.Own, fmt.Sprintf("entry %d", s.entries))
	count := e.countBookings()
	var lines []rail.Line
	for _, detail := range e.Details {
		for _, booking := range detail.Each {
			line := rail.Line{
				Key: booking.EndToEnd, Reference: cmp.Or(booking.Reference, e.Reference),
				Status: e.lineStatus(booking), Code: booking.Return.reasonCode(), Date: day,
			}
			if line.Amount, err = booking.readAmount(whole, count); err != nil {
				return err
			}
			lines = append(lines, line)
		}
	}
	if len(lines) == 0 {
		lines = []rail.Line{{Key: "", Reference: e.batchReference(), Amount: whole, Status: e.lineStatus(bookingXML{}), Date: day}}
	}
	return reportLines(lines, whole, each)
}

// readAmount returns a booking's own amount, or the entry's when it is the only booking.
func (b bookingXML) readAmount(whole money.Money, count int) (money.Money, error) {
	switch {
	case b.Amount != nil:
		return b.Amount.toMoney()
	case b.Old != nil:
		return b.Old.toMoney()
	case count == 1:
		return whole, nil
	default:
		return money.Money{}, invalidReport("payments that were booked together have no amounts")
	}
}

// reportLines passes on lines whose sum equals the entry's. It skips credits that are not
// returned payouts.
func reportLines(lines []rail.Line, whole money.Money, each func(rail.Line) error) error {
	total, same := int64(0), true
	for _, line := range lines {
		total += line.Amount.Amount
		same = same && line.Amount.Currency == whole.Currency
	}
	if same && total != whole.Amount {
		return invalidReport("an entry of %s holds payments of %s", whole, money.New(total, whole.Currency))
	}
	for _, line := range lines {
		if line.Status == "" {
			continue
		}
		if err := each(line); err != nil {
			return err
		}
	}
	return nil
}

func (e entryXML) statusCode() string {
	if e.Status.Code != "" {
		return e.Status.Code
	}
	return strings.TrimSpace(e.Status.Text) // 001.02 has no Cd
}

// isBooked reports whether an entry is booked. Announced (PDNG, FUTR) and informational
// entries come again when they are booked.
func (e entryXML) isBooked() bool { return e.statusCode() == "BOOK" }

// lineStatus returns an entry's status for a payment in it. A credit is a returned payout
// if the entry reverses a payment, gives a return reason or carries one of our keys,
// which only our payments have. Other credits are not ours and have no status. Every
// debit has a status, including the reversal of a return.
func (e entryXML) lineStatus(b bookingXML) rail.LineStatus {
	reversed := e.Reversal == "true" || e.Reversal == "1"
	switch {
	case e.Direction == "DBIT" && e.isBooked():
		return rail.Settled
	case e.Direction == "DBIT" && e.statusCode() != "INFO":
		return rail.InFlight
	case e.Direction == "CRDT" && e.isBooked() && (reversed || b.Return != nil || bankfile.IsPolicyID(b.EndToEnd)):
		return rail.Returned
	default:
		return ""
	}
}

func (e entryXML) countBookings() (n int) {
	for _, detail := range e.Details {
		n += len(detail.Each)
	}
	return n
}

// batchReference returns the batch id of a collective booking, else the bank's own
// reference.
func (e entryXML) batchReference() string {
	for _, detail := range e.Details {
		switch {
		case detail.Batch.Info != "":
			return detail.Batch.Info
		case detail.Batch.Message != "":
			return detail.Batch.Message
		}
	}
	return e.Reference
}

// checkEnd compares the entries with the statement's own summary, if it has one.
func (s *statement) checkEnd() error {
	if s.summary == nil {
		return nil
	}
	if s.summary.Count != "" && s.summary.Count != decimal.NewFromInt(int64(s.entries)).String() {
		return invalidReport("it counts %s entries and has %d", s.summary.Count, s.entries)
	}
	if s.summary.Sum != "" {
		if sum, err := parseDecimal(s.summary.Sum); err != nil || !sum.Equal(s.sum) {
			return invalidReport("its entries sum to %s and it says %s", s.sum, s.summary.Sum)
		}
	}
	return nil
}
