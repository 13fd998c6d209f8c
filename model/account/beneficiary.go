package account

import (
	"fmt"
	"io"
	"log/slog"
	"strings"
	"unicode/utf8"
)

// maxNameLength is the maximum length of a creditor's name in ISO 20022 transfers.
const maxNameLength = 140

// Beneficiary is the payee.
type Beneficiary struct {
	Name    string `json:"name"`
	Country string `json:"country"` // ISO 3166-1 alpha-2, capitals
}

// Validate returns every problem at once; pointers are relative to the
// beneficiary.
func (b Beneficiary) Validate() []Problem {
	var problems []Problem
	switch {
	case strings.TrimSpace(b.Name) == "":
		problems = append(problems, Problem{"/name", "required", "The name of the account's holder."})
	case utf8.RuneCountInString(b.Name) > maxNameLength:
		problems = append(problems, Problem{"/name", "length", fmt.Sprintf("At most %d characters.", maxNameLength)})
	}
	switch {
	case b.Country == "":
		problems = append(problems, Problem{"/country", "required", "An ISO 3166 country of two capital letters."})
	case !IsCountry(b.Country):
		problems = append(problems, Problem{"/country", "unknown", "Not an ISO 3166 country of two capital letters."})
	}
	return problems
}

// String returns only the country, because a name is personal data.
func (b Beneficiary) String() string { return "beneficiary in " + b.Country }

// Format hides the name from every verb of package fmt.
func (b Beneficiary) Format(state fmt.State, _ rune) { _, _ = io.WriteString(state, b.String()) }

// LogValue hides the name from logs.
func (b Beneficiary) LogValue() slog.Value { return slog.StringValue(b.String()) }

// IsCountry reports whether code is an ISO 3166-1 alpha-2 country in capitals, or XK,
// which banks use for Kosovo.
func IsCountry(code string) bool { return countries[code] }

// countries is the list of ISO 3166-1 officially assigned codes.
var countries = codeSet(`
	AD AE AF AG AI AL AM AO AQ AR AS AT AU AW AX AZ BA BB BD BE BF BG BH BI BJ BL BM BN BO BQ BR BS BT BV BW BY BZ
	CA CC CD CF CG CH CI CK CL CM CN CO CR CU CV CW CX CY CZ DE DJ DK DM DO DZ EC EE EG EH ER ES ET FI FJ FK FM FO FR
	GA GB GD GE GF GG GH GI GL GM GN GP GQ GR GS GT GU GW GY HK HM HN HR HT HU ID IE IL IM IN IO IQ IR IS IT JE JM JO JP
	KE KG KH KI KM KN KP KR KW KY KZ LA LB LC LI LK LR LS LT LU LV LY MA MC MD ME MF MG MH MK ML MM MN MO MP MQ MR MS MT
	MU MV MW MX MY MZ NA NC NE NF NG NI NL NO NP NR NU NZ OM PA PE PF PG PH PK PL PM PN PR PS PT PW PY QA RE RO RS RU RW
	SA SB SC SD SE SG SH SI SJ SK SL SM SN SO SR SS ST SV SX SY SZ TC TD TF TG TH TJ TK TL TM TN TO TR TT TV TW TZ
	UA UG UM US UY UZ VA VC VE VG VI VN VU WF WS YE YT ZA ZM ZW
	XK`)

func codeSet(codes string) map[string]bool {
	members := map[string]bool{}
	for _, code := range strings.Fields(codes) {
		members[code] = true
	}
	return members
}
