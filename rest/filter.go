package rest

import (
	"net/url"
	"strings"
	"time"
	"unicode/utf8"

	"parapet/model"
)

// The filters of the lists of quotes, policies and claims.
var (
	filters      = []string{"status", "product", "partner_reference", "created_from", "created_to"}
	claimFilters = append([]string{"policy_id"}, filters...)
)

// filter reads what narrows a list.
func (c *call) filter() (model.Filter, error) {
	query := c.request.URL.Query()
	filter := model.Filter{}
	for name, into := range map[string]*string{
		"status": &filter.Status, "product": &filter.Product, "policy_id": &filter.PolicyID, "partner_reference": &filter.PartnerReference,
	} {
		if err := word(query, name, into); err != nil {
			return filter, err
		}
	}
	for name, into := range map[string]**time.Time{"created_from": &filter.CreatedFrom, "created_to": &filter.CreatedTo} {
		if err := instant(query, name, into); err != nil {
			return filter, err
		}
	}
	return filter, nil
}

// maxWord bounds a filter's value, in bytes; no value that exists is longer.
const maxWord = 512

func word(query url.Values, name string, into *string) error {
	if !query.Has(name) {
		return nil
	}
	*into = query.Get(name)
	if *into == "" || len(*into) > maxWord || !utf8.ValidString(*into) || strings.ContainsRune(*into, 0) {
		return parameterInvalid(name, "value", "Give a value of ordinary text, or leave the parameter out.")
	}
	return nil
}

// instant reads an RFC 3339 time whose year the database knows.
func instant(query url.Values, name string, into **time.Time) error {
	if !query.Has(name) {
		return nil
	}
	at, err := time.Parse(time.RFC3339, query.Get(name))
	at = at.UTC()
	if err != nil || at.Year() < 1 || at.Year() > 9999 {
		return parameterInvalid(name, "format", "Give an RFC 3339 time such as 2018-02-06T15:50:42Z; a + of the zone is written %2B.")
	}
	*into = &at
	return nil
}
