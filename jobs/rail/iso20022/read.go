package iso20022

import (
	"cmp"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/shopspring/decimal"

	"parapet/jobs/rail"
	"parapet/model/money"
)

// maxFileSize limits a file, in bytes.
const maxFileSize = 512 << 20

func invalidReport(format string, args ...any) error {
	return fmt.Errorf("%w: %s", rail.ErrInvalidReport, fmt.Sprintf(format, args...))
}

// messageReader handles one kind of message: the elements that hold its lines, and its
// end.
type messageReader interface {
	// isPart reports whether an element is decoded as a whole.
	isPart(name string) bool
	readPart(d *xml.Decoder, start xml.StartElement, each func(rail.Line) error) error
	checkEnd() error
}

var messageReaders = map[string]func() messageReader{
	"pain.002.001.": func() messageReader { return &statusReport{} },
	"camt.053.001.": func() messageReader { return &statement{} },
}

// Read implements bankfile.Format for pain.002 and camt.053, in any version from 001.02
// on.
func (*Format) Read(r io.Reader, each func(rail.Line) error) error {
	limited := &io.LimitedReader{R: r, N: maxFileSize}
	d := xml.NewDecoder(limited)
	kind, err := readRoot(d)
	if err != nil {
		return err
	}
	for {
		token, err := d.Token()
		switch {
		case errors.Is(err, io.EOF) && limited.N > 0:
			return kind.checkEnd()
		case err != nil:
			return invalidReport("it is cut short, too long or not XML")
		}
		switch token := token.(type) {
		case xml.StartElement:
			if kind.isPart(token.Name.Local) {
				if err := kind.readPart(d, token, each); err != nil {
					return err
				}
			}
		case xml.Directive:
			return invalidReport("it declares a document type")
		}
	}
}

const namespacePrefix = "urn:iso:std:iso:20022:tech:xsd:"

// readRoot reads the root element and selects the reader for the message.
func readRoot(d *xml.Decoder) (messageReader, error) {
	for {
		token, err := d.Token()
		if err != nil {
			return nil, invalidReport("it is not XML")
		}
		start, ok := token.(xml.StartElement)
		if _, declares := token.(xml.Directive); declares {
			return nil, invalidReport("it declares a document type")
		}
		if !ok {
			continue
		}
		for prefix, kind := range messageReaders {
			if start.Name.Local == "Document" && strings.HasPrefix(start.Name.Space, namespacePrefix+prefix) {
				return kind(), nil
			}
		}
		return nil, invalidReport("it is neither pain.002 nor camt.053 but %s", start.Name.Space)
	}
}

// decodeElement reads a whole element; malformed XML makes the report invalid.
func decodeElement(d *xml.Decoder, start xml.StartElement, into any) error {
	if err := d.DecodeElement(into, &start); err != nil {
		return invalidReport("%s cannot be read", start.Name.Local)
	}
	return nil
}

// amountXML is an amount with its currency.
type amountXML struct {
	Currency string `xml:"Ccy,attr"`
	Value    string `xml:",chardata"`
}

// toMoney reads an amount exactly: more digits than the currency has are invalid.
func (a amountXML) toMoney() (money.Money, error) {
	if !money.IsCurrency(a.Currency) {
		return money.Money{}, invalidReport("an amount has no currency")
	}
	value, err := parseDecimal(a.Value)
	minor := value.Shift(money.Digits(a.Currency))
	if err != nil || !minor.IsInteger() || !minor.BigInt().IsInt64() {
		return money.Money{}, invalidReport("an amount is not one of %s", a.Currency)
	}
	return money.New(minor.IntPart(), a.Currency), nil
}

// parseDecimal reads an XML Schema decimal. It rejects an exponent, which XML Schema does
// not allow and which could exhaust memory.
func parseDecimal(text string) (decimal.Decimal, error) {
	text = strings.TrimSpace(text)
	if len(text) > 32 || strings.Trim(text, "0123456789.") != "" {
		return decimal.Decimal{}, invalidReport("a sum is not written in digits")
	}
	return decimal.NewFromString(text)
}

type reasonXML struct {
	Code  string `xml:"Rsn>Cd"`
	Other string `xml:"Rsn>Prtry"`
}

// reasonCode returns the reason, empty without one.
func (r *reasonXML) reasonCode() string {
	if r == nil {
		return ""
	}
	return cmp.Or(r.Code, r.Other)
}

func firstReason(all []reasonXML) string {
	if len(all) == 0 {
		return ""
	}
	return all[0].reasonCode()
}

// dateXML is a date or a date and time.
type dateXML struct {
	Day     string `xml:"Dt"`
	Instant string `xml:"DtTm"`
}

func (d dateXML) parseDay() (time.Time, error) {
	text := d.Day
	if text == "" && len(d.Instant) >= len(time.DateOnly) {
		text = d.Instant[:len(time.DateOnly)]
	}
	if len(text) > len(time.DateOnly) {
		text = text[:len(time.DateOnly)] // a zone may follow
	}
	day, err := time.Parse(time.DateOnly, text)
	if err != nil {
		return day, invalidReport("a booking has no day")
	}
	return day, nil
}
