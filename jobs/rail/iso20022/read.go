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

// fileLimit is the longest file that is read, in bytes.
const fileLimit = 512 << 20

func broken(format string, args ...any) error {
	return fmt.Errorf("%w: %s", rail.ErrBroken, fmt.Sprintf(format, args...))
}

// message is a kind of message that is read: what to do with the elements that
// hold its lines, and with its end.
type message interface {
	// part names the elements that are decoded whole.
	part(name string) bool
	take(d *xml.Decoder, start xml.StartElement, each func(rail.Line) error) error
	done() error
}

var messages = map[string]func() message{
	"pain.002.001.": func() message { return &statusReport{} },
	"camt.053.001.": func() message { return &statement{} },
}

// Read implements bankfile.Format: pain.002 and camt.053, whatever version from
// 001.02 on the bank writes.
func (*Format) Read(r io.Reader, each func(rail.Line) error) error {
	limited := &io.LimitedReader{R: r, N: fileLimit}
	d := xml.NewDecoder(limited)
	kind, err := root(d)
	if err != nil {
		return err
	}
	for {
		token, err := d.Token()
		switch {
		case errors.Is(err, io.EOF) && limited.N > 0:
			return kind.done()
		case err != nil:
			return broken("it is cut short, too long or not XML")
		}
		switch token := token.(type) {
		case xml.StartElement:
			if kind.part(token.Name.Local) {
				if err := kind.take(d, token, each); err != nil {
					return err
				}
			}
		case xml.Directive:
			return broken("it declares a document type")
		}
	}
}

const namespace = "urn:iso:std:iso:20022:tech:xsd:"

// root reads up to the document and finds the kind of message.
func root(d *xml.Decoder) (message, error) {
	for {
		token, err := d.Token()
		if err != nil {
			return nil, broken("it is not XML")
		}
		start, ok := token.(xml.StartElement)
		if _, declares := token.(xml.Directive); declares {
			return nil, broken("it declares a document type")
		}
		if !ok {
			continue
		}
		for prefix, kind := range messages {
			if start.Name.Local == "Document" && strings.HasPrefix(start.Name.Space, namespace+prefix) {
				return kind(), nil
			}
		}
		return nil, broken("it is neither pain.002 nor camt.053 but %s", start.Name.Space)
	}
}

// decode reads a whole element; whatever is not XML to its end is broken.
func decode(d *xml.Decoder, start xml.StartElement, into any) error {
	if err := d.DecodeElement(into, &start); err != nil {
		return broken("%s cannot be read", start.Name.Local)
	}
	return nil
}

// amountXML is an amount with its currency.
type amountXML struct {
	Currency string `xml:"Ccy,attr"`
	Value    string `xml:",chardata"`
}

// money reads an amount exactly: more digits than the currency has are broken.
func (a amountXML) money() (money.Money, error) {
	if !money.Known(a.Currency) {
		return money.Money{}, broken("an amount has no currency")
	}
	value, err := number(a.Value)
	minor := value.Shift(money.Digits(a.Currency))
	if err != nil || !minor.IsInteger() || !minor.BigInt().IsInt64() {
		return money.Money{}, broken("an amount is not one of %s", a.Currency)
	}
	return money.New(minor.IntPart(), a.Currency), nil
}

// number reads digits with a point, as XML Schema has decimals. An exponent, which it
// has not, could cost all memory.
func number(text string) (decimal.Decimal, error) {
	text = strings.TrimSpace(text)
	if len(text) > 32 || strings.Trim(text, "0123456789.") != "" {
		return decimal.Decimal{}, broken("a sum is not written in digits")
	}
	return decimal.NewFromString(text)
}

type reasonXML struct {
	Code  string `xml:"Rsn>Cd"`
	Other string `xml:"Rsn>Prtry"`
}

// code is why, in a word; empty where nothing is said.
func (r *reasonXML) code() string {
	if r == nil {
		return ""
	}
	return cmp.Or(r.Code, r.Other)
}

func reason(all []reasonXML) string {
	if len(all) == 0 {
		return ""
	}
	return all[0].code()
}

// dateXML is a day, or an instant.
type dateXML struct {
	Day     string `xml:"Dt"`
	Instant string `xml:"DtTm"`
}

func (d dateXML) day() (time.Time, error) {
	text := d.Day
	if text == "" && len(d.Instant) >= len(time.DateOnly) {
		text = d.Instant[:len(time.DateOnly)]
	}
	if len(text) > len(time.DateOnly) {
		text = text[:len(time.DateOnly)] // a zone may follow
	}
	day, err := time.Parse(time.DateOnly, text)
	if err != nil {
		return day, broken("a booking has no day")
	}
	return day, nil
}
