package account

import (
	"fmt"
	"log/slog"
)

// MobileMoney is a wallet at a mobile operator.
type MobileMoney struct {
	MSISDN   string `json:"msisdn"`   // E.164: + and 7 to 15 digits
	Provider string `json:"provider"` // the operator's slug: mpesa, mtn_momo
}

// Format hides the number from package fmt; see Number.Format.
func (m MobileMoney) Format(state fmt.State, verb rune) { m.toNumber().Format(state, verb) }

// LogValue hides the number from logs.
func (m MobileMoney) LogValue() slog.Value { return m.toNumber().LogValue() }

func (m MobileMoney) toNumber() Number { return Number{Type: TypeMobileMoney, MobileMoney: &m} }

func (m MobileMoney) validate() []Problem {
	var problems []Problem
	switch {
	case m.MSISDN == "":
		problems = append(problems, Problem{"/mobile_money/msisdn", "required", "A telephone number with its country code: + and 7 to 15 digits."})
	case !validE164(m.MSISDN):
		problems = append(problems, Problem{"/mobile_money/msisdn", "format", "A telephone number with its country code: + and 7 to 15 digits, the first not zero."})
	}
	switch {
	case m.Provider == "":
		problems = append(problems, Problem{"/mobile_money/provider", "required", "The operator's short name, such as mpesa."})
	case len(m.Provider) > 40 || !allBytes(m.Provider, isSlugByte):
		problems = append(problems, Problem{"/mobile_money/provider", "format", "The operator's short name: at most 40 of a–z, 0–9, hyphen and underscore."})
	}
	return problems
}

// validE164 checks the form of ITU-T E.164: at most fifteen digits, country code first,
// and no country code begins with zero. Seven digits is the shortest in use.
func validE164(number string) bool {
	return len(number) >= 8 && len(number) <= 16 && number[0] == '+' && number[1] != '0' && allBytes(number[1:], isDigit)
}

func isSlugByte(c byte) bool { return isDigit(c) || 'a' <= c && c <= 'z' || c == '-' || c == '_' }

// canonicalForm puts the provider first, so that the number, whose end may be shown,
// follows the slash.
func (m MobileMoney) canonicalForm() string { return m.Provider + "/" + m.MSISDN }

func (m MobileMoney) institutionName() string { return m.Provider }

func (m MobileMoney) countryCode() string { return "" }
