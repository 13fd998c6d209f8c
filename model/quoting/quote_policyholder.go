package quoting

import (
	"net/mail"
	"unicode/utf8"

	"parapet/model/account"
	"parapet/model/kernel/apperr"
	"parapet/model/kernel/optional"
	"parapet/model/quoting/product"
	"parapet/model/wire"
)

// RequirePerson validates a policyholder, for quotes and binds alike.
func RequirePerson(v *apperr.Validator, p *wire.Person, at string) {
	if p == nil {
		return
	}
	v.Require(p.Name != nil, at+"/name", "required", "Name the policyholder.")
	v.Require(p.Name == nil || *p.Name != "" && utf8.RuneCountInString(*p.Name) <= 200, at+"/name", "length", "Use 1 to 200 characters.")
	if p.Email != nil {
		address, err := mail.ParseAddress(*p.Email)
		v.Require(err == nil && address.Address == *p.Email && len(*p.Email) <= 254, at+"/email", "format", "Use an address such as owner@example.com.")
	}
	v.Require(p.Country == nil || account.IsCountry(*p.Country), at+"/country", "value", "Use an ISO 3166-1 alpha-2 code in capitals, such as TW.")
}

func toPerson(p *product.Policyholder) *wire.Person {
	if p == nil {
		return nil
	}
	return &wire.Person{Name: &p.Name, Email: optional.NonZero(p.Email), Country: optional.NonZero(p.Country)}
}
