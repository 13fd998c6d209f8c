package strictjson

import (
	"bytes"
	"math"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// Canonicalize returns one text for all spellings of a JSON value: without white space,
// members sorted, strings in their shortest form, numbers by value, so that 50, 50.0 and
// 5e1 are equal. Unlike RFC 8785 it keeps every digit: amounts beyond 2^53 stay distinct.
func Canonicalize(text []byte) ([]byte, error) {
	value := jsontext.Value(bytes.Clone(text))
	if err := value.Format(jsontext.ReorderRawObjects(true)); err != nil {
		return nil, err
	}
	out := make([]byte, 0, len(value))
	for i := 0; i < len(value); {
		end := i + 1
		switch c := value[i]; {
		case c == '"':
			for ; value[end] != '"'; end++ {
				if value[end] == '\\' {
					end++
				}
			}
			end++
		case c == '-' || '0' <= c && c <= '9':
			end = i + len(value[i:]) - len(bytes.TrimLeft(value[i:], "+-.0123456789eE"))
			out = append(out, canonicalNumber(string(value[i:end]))...)
			i = end
			continue
		}
		out = append(out, value[i:end]...)
		i = end
	}
	return out, nil
}

// canonicalNumber writes a JSON number as an integer without trailing zeros and a power
// of ten. A number with an exponent beyond 32 bits stays unchanged.
func canonicalNumber(number string) string {
	mantissa, power, _ := strings.Cut(strings.ToLower(number), "e")
	exponent := int64(0)
	if power != "" {
		var err error
		if exponent, err = strconv.ParseInt(power, 10, 64); err != nil || exponent > math.MaxInt32 || exponent < math.MinInt32 {
			return number
		}
	}
	mantissa, negative := strings.CutPrefix(mantissa, "-")
	whole, fraction, _ := strings.Cut(mantissa, ".")
	digits := strings.TrimLeft(whole+fraction, "0")
	if digits == "" {
		return "0"
	}
	significant := strings.TrimRight(digits, "0")
	exponent += int64(len(digits) - len(significant) - len(fraction))
	if negative {
		significant = "-" + significant
	}
	if exponent == 0 {
		return significant
	}
	return significant + "e" + strconv.FormatInt(exponent, 10)
}
