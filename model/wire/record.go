package wire

import (
	"time"

	"parapet/model/money"
)

// Header is the common header of every record.
type Header struct {
	ID        string    `json:"id"`      // prefix, underscore, 26 characters of base32 UUIDv7
	Object    string    `json:"object"`  // the record's type
	Partner   *string   `json:"partner"` // the partner it belongs to; null if it belongs to none
	CreatedAt time.Time `json:"created_at"`
	UpdatedAt time.Time `json:"updated_at"`
	Version   int64     `json:"version"` // grows by one with each change of the record itself

	text []byte // the whole encoded record, if kept
}

// Head returns the header of any record.
func (h Header) Head() Header { return h }

func (h *Header) encodedText() []byte { return h.text }

func (h *Header) setEncodedText(text []byte) { h.text = text }

// References are the members of a record that the partner sets for its own use.
type References struct {
	PartnerReference *string           `json:"partner_reference"` // unique per partner and type
	Metadata         map[string]string `json:"metadata"`
}

// Money is an amount of minor units and its currency.
type Money = money.Money

// Person is a natural or legal person in a contract of cover.
type Person struct {
	Name    *string `json:"name"`
	Email   *string `json:"email"`
	Country *string `json:"country"` // ISO 3166-1 alpha-2
}

// Actor is the actor of an operation.
type Actor struct {
	Kind string `json:"kind"` // system, partner, operator, rail, source
	Name string `json:"name"`
}

// List is one page of records.
type List[T any] struct {
	Object     string  `json:"object"` // always "list"
	Data       []T     `json:"data"`
	HasMore    bool    `json:"has_more"`
	NextCursor *string `json:"next_cursor"` // pass it as cursor to continue; null on the last page
}
