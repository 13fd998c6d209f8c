package money

import (
	"errors"
	"strconv"
	"strings"
)

// Errors of ParseWhole.
var (
	ErrNotWhole = errors.New("not a whole number")
	ErrTooLarge = errors.New("more than 64 bits")
)

// ParseWhole parses a JSON number (RFC 8259 section 6) as a whole number, exactly: 1e2
// and 100.0 are 100, as JSON Schema 2020-12 defines an integer. It never expands the
// number, so 1e999999999 costs nothing. Errors: ErrNotWhole, ErrTooLarge.
func ParseWhole(text string) (int64, error) {
	text, negative := strings.CutPrefix(text, "-")
	mantissa, power := text, 0
	if at := strings.IndexAny(text, "eE"); at >= 0 {
		mantissa = text[:at]
		power, _ = strconv.Atoi(text[at+1:]) // out of range Atoi returns the nearest int, which is out of bounds here as well
	}
	whole, fraction, _ := strings.Cut(mantissa, ".")
	digits := strings.TrimLeft(whole+fraction, "0")
	significant := strings.TrimRight(digits, "0")
	if significant == "" {
		return 0, nil
	}
	zeros := len(digits) - len(significant) - len(fraction) // trailing ones, in addition to the power's
	const most = 19                                         // digits of 64 bits
	switch {
	case power < -zeros:
		return 0, ErrNotWhole
	case power > most-zeros-len(significant):
		return 0, ErrTooLarge
	}
	if negative {
		significant = "-" + significant
	}
	x, err := strconv.ParseInt(significant+strings.Repeat("0", power+zeros), 10, 64)
	if err != nil {
		return 0, ErrTooLarge
	}
	return x, nil
}
