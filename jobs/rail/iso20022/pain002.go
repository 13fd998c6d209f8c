package iso20022

import (
	"encoding/xml"
	"time"

	"parapet/jobs/rail"
)

// statusReport is pain.002: what the bank makes of a file of ours.
type statusReport struct {
	day      time.Time
	original string // the batch that the next lines are about
	said     bool
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
	Status    string      `xml:"TxSts"`
	Reasons   []reasonXML `xml:"StsRsnInf"`
	Reference string      `xml:"AcctSvcrRef"`
	Amount    *amountXML  `xml:"OrgnlTxRef>Amt>InstdAmt"`
}

// statuses are the words of ExternalPaymentTransactionStatus1Code that decide;
// any other is under way.
var statuses = map[string]rail.LineStatus{
	"RJCT": rail.Rejected, "CANC": rail.Rejected, "ACSC": rail.Settled, "ACCC": rail.Settled,
}

func statusOf(word string) rail.LineStatus {
	if status, decides := statuses[word]; decides {
		return status
	}
	return rail.Underway
}

func (*statusReport) part(name string) bool {
	return name == "CreDtTm" || name == "OrgnlGrpInfAndSts" || name == "OrgnlPmtInfAndSts"
}

func (s *statusReport) take(d *xml.Decoder, start xml.StartElement, each func(rail.Line) error) (err error) {
	switch start.Name.Local {
	case "CreDtTm":
		var created string
		if err := decode(d, start, &created); err != nil {
			return err
		}
		s.day, err = dateXML{Instant: created}.day()
		return err
	case "OrgnlGrpInfAndSts":
		var group groupXML
		if err := decode(d, start, &group); err != nil {
			return err
		}
		s.original, s.said = group.Original, true
		return s.whole(group.Original, group.Status, group.Reasons, each)
	default:
		var info infoXML
		if err := decode(d, start, &info); err != nil {
			return err
		}
		if len(info.Each) == 0 {
			return s.whole(info.Original, info.Status, info.Reasons, each)
		}
		for _, transaction := range info.Each {
			if err := s.line(transaction, each); err != nil {
				return err
			}
		}
		return nil
	}
}

// whole is a word about everything in a file. Only a rejection decides: a file
// that was taken is judged payment by payment.
func (s *statusReport) whole(original, status string, reasons []reasonXML, each func(rail.Line) error) error {
	if statusOf(status) != rail.Rejected {
		return nil
	}
	if original == "" {
		return broken("it rejects a file without its name")
	}
	return each(rail.Line{Reference: original, Status: rail.Rejected, Code: reason(reasons), Date: s.day})
}

func (s *statusReport) line(t transactionXML, each func(rail.Line) error) error {
	if t.EndToEnd == "" || t.Status == "" {
		return broken("a payment has no end-to-end id or no status")
	}
	line := rail.Line{Key: keyOf(t.EndToEnd), Reference: t.Reference, Status: statusOf(t.Status), Code: reason(t.Reasons), Date: s.day}
	if line.Reference == "" {
		line.Reference = t.ID
	}
	if t.Amount != nil { // else the books know it
		var err error
		if line.Amount, err = t.Amount.money(); err != nil {
			return err
		}
	}
	return each(line)
}

func (s *statusReport) done() error {
	if !s.said {
		return broken("it names no file of ours")
	}
	return nil
}
