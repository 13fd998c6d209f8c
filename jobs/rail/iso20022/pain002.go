package iso20022

import (
	"cmp"
	"encoding/xml"
	"time"

	"parapet/jobs/rail"
)

// statusReport reads pain.002: the bank's status of a file we sent.
type statusReport struct {
	day      time.Time
	original string // the file that the next lines are about
	status   string // the status of the whole file
	hasGroup bool
}

type groupXML struct {
	Original string      `xml:"OrgnlMsgId"`
	Status   string      `xml:"GrpSts"`
	Reasons  []reasonXML `xml:"StsRsnInf"`
}

type infoXML struct {
	Original string           `xml:"OrgnlPmtInfId"`
	Status   string           `xml:"PmtInfSts"`
	Reasons  []reasonXML      `xml:"StsRsnInf"`
	Each     []transactionXML `xml:"TxInfAndSts"`
}

type transactionXML struct {
	ID        string      `xml:"StsId"`
	EndToEnd  string      `xml:"OrgnlEndToEndId"`
	Own       string      `xml:"OrgnlInstrId"` // the same; some banks give one of them
	Status    string      `xml:"TxSts"`
	Reasons   []reasonXML `xml:"StsRsnInf"`
	Reference string      `xml:"AcctSvcrRef"`
	Amount    *amountXML  `xml:"OrgnlTxRef>Amt>InstdAmt"`
}

// decidingStatuses maps the final codes of ExternalPaymentTransactionStatus1Code; any
// other status is in flight. ACSC is not final: the code set warns that it is a status
// and not financial information. The statement contains the booking, and money is
// reconciled once.
var decidingStatuses = map[string]rail.LineStatus{"RJCT": rail.Rejected, "CANC": rail.Rejected}

func statusOf(word string) rail.LineStatus {
	if status, decides := decidingStatuses[word]; decides {
		return status
	}
	return rail.InFlight
}

func (*statusReport) isPart(name string) bool {
	return name == "CreDtTm" || name == "OrgnlGrpInfAndSts" || name == "OrgnlPmtInfAndSts"
}

func (s *statusReport) readPart(d *xml.Decoder, start xml.StartElement, each func(rail.Line) error) (err error) {
	switch start.Name.Local {
	case "CreDtTm":
		var created string
		if err := decodeElement(d, start, &created); err != nil {
			return err
		}
		s.day, err = dateXML{Instant: created}.parseDay()
		return err
	case "OrgnlGrpInfAndSts":
		var group groupXML
		if err := decodeElement(d, start, &group); err != nil {
			return err
		}
		s.original, s.status, s.hasGroup = group.Original, group.Status, true
		return s.reportWholeFile(group.Original, group.Status, group.Reasons, each)
	default:
		var info infoXML
		if err := decodeElement(d, start, &info); err != nil {
			return err
		}
		return s.reportInfo(info, each)
	}
}

// reportInfo reports the one payment block of a file. It skips payments after a rejection
// of the whole file, so that each is refused once.
func (s *statusReport) reportInfo(info infoXML, each func(rail.Line) error) error {
	switch {
	case statusOf(s.status) == rail.Rejected:
		return nil
	case len(info.Each) == 0 || statusOf(info.Status) == rail.Rejected:
		return s.reportWholeFile(cmp.Or(info.Original, s.original), info.Status, info.Reasons, each)
	}
	for _, transaction := range info.Each {
		transaction.Status = cmp.Or(transaction.Status, info.Status, s.status)
		if err := s.reportTransaction(transaction, each); err != nil {
			return err
		}
	}
	return nil
}

// reportWholeFile reports a status of a whole file. Only a rejection is final: the
// payments of an accepted file are reported one by one.
func (s *statusReport) reportWholeFile(original, status string, reasons []reasonXML, each func(rail.Line) error) error {
	if statusOf(status) != rail.Rejected {
		return nil
	}
	if original == "" {
		return invalidReport("it rejects a file without its name")
	}
	return each(rail.Line{Reference: original, Status: rail.Rejected, Code: firstReason(reasons), Date: s.day})
}

func (s *statusReport) reportTransaction(t transactionXML, each func(rail.Line) error) error {
	key := cmp.Or(t.EndToEnd, t.Own)
	if key == "" || t.Status == "" {
		return invalidReport("a payment has no end-to-end id or no status")
	}
	line := rail.Line{Key: key, Reference: cmp.Or(t.Reference, t.ID), Status: statusOf(t.Status), Code: firstReason(t.Reasons), Date: s.day}
	if t.Amount != nil { // otherwise the order store has it
		var err error
		if line.Amount, err = t.Amount.toMoney(); err != nil {
			return err
		}
	}
	return each(line)
}

func (s *statusReport) checkEnd() error {
	if !s.hasGroup {
		return invalidReport("it names no file of ours")
	}
	return nil
}
