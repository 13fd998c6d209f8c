package main

import (
	"errors"
	"fmt"
	"reflect"
	"time"

	"github.com/agnivade/levenshtein"
	"github.com/caarlos0/env/v11"
)

// maxTypos is the number of wrong letters up to which a similar setting is suggested.
const maxTypos = 4

// requireSetting returns an error unless a setting has this name. The error suggests the
// most similar one.
func requireSetting(name string) error {
	similar, typos := "", maxTypos+1
	for row := range settingRows(settings{}) {
		if row.name == name {
			return nil
		}
		if n := levenshtein.ComputeDistance(name, row.name); n < typos {
			similar, typos = row.name, n
		}
	}
	advice := "parapet config lists them"
	if similar != "" {
		advice = "did you mean " + similar + "?"
	}
	return fmt.Errorf("there is no setting %s; %s", name, advice)
}

// checkValues returns one error for each setting that could not be parsed or is below the
// tag min of its field. The error of the parser has the names and texts of Go.
func (s settings) checkValues(parsed error) error {
	var all env.AggregateError
	if parsed != nil && !errors.As(parsed, &all) {
		return parsed
	}
	var found []error
	unparsed := map[string]bool{} // by name of the field
	for _, each := range all.Errors {
		if wrong := new(env.ParseError); errors.As(each, wrong) {
			unparsed[wrong.Name] = true
		} else {
			found = append(found, each)
		}
	}
	value := reflect.ValueOf(s)
	for i := range value.NumField() {
		field := value.Type().Field(i)
		bound, has := field.Tag.Lookup("min")
		if unparsed[field.Name] || has && value.Field(i).Int() < parseBound(field.Type, bound) {
			found = append(found, errNotAllowed(field))
		}
	}
	return errors.Join(found...)
}

// parseBound parses the tag min as the setting itself is parsed.
func parseBound(of reflect.Type, bound string) (lowest int64) {
	if of == reflect.TypeFor[time.Duration]() {
		d, _ := time.ParseDuration(bound)
		return int64(d)
	}
	_, _ = fmt.Sscan(bound, &lowest)
	return lowest
}

// errNotAllowed names a setting and says what it may be.
func errNotAllowed(field reflect.StructField) error {
	use := "a whole number"
	switch {
	case field.Type.Kind() == reflect.Bool:
		use = "true or false"
	case field.Type == reflect.TypeFor[time.Duration]():
		use = "a duration such as 90s or 15m"
	}
	if bound, has := field.Tag.Lookup("min"); has {
		use += ", at least " + bound
	}
	return fmt.Errorf("%s: use %s", field.Tag.Get("env"), use)
}
