package account

import (
	"fmt"
	"log/slog"
	"strings"
)

// IBAN is an international bank account number and, optionally, the BIC of its bank.
type IBAN struct {
	IBAN string `json:"iban"`
	BIC  string `json:"bic,omitzero"`
}

// Format hides the number from package fmt; see Number.Format.
func (i IBAN) Format(state fmt.State, verb rune) { i.toNumber().Format(state, verb) }

// LogValue hides the number from logs.
func (i IBAN) LogValue() slog.Value { return i.toNumber().LogValue() }

func (i IBAN) toNumber() Number { return Number{Type: TypeIBAN, IBAN: &i} }

func (i IBAN) validate() []Problem {
	var problems []Problem
	if problem := checkIBAN(i.IBAN); problem != nil {
		problems = append(problems, *problem)
	}
	if i.BIC != "" && !validBIC(i.BIC) {
		problems = append(problems, Problem{"/iban/bic", "format", "A BIC has 8 or 11 characters: four letters of the bank, two of the country, two characters of the place and three of the branch."})
	}
	return problems
}

// checkIBAN returns the first problem, nil if there is none. Later checks would only
// repeat it: a wrong length makes the check digits wrong too.
func checkIBAN(iban string) *Problem {
	const pointer = "/iban/iban"
	if iban == "" {
		return &Problem{pointer, "required", "An IBAN."}
	}
	if len(iban) < 5 || !allBytes(iban, isAlphanumeric) || !allBytes(iban[:2], isLetter) || !allBytes(iban[2:4], isDigit) {
		return &Problem{pointer, "format", "An IBAN is two letters of the country, two check digits, then letters and digits."}
	}
	length, known := ibanLengths[iban[:2]]
	switch {
	case !known:
		return &Problem{pointer, "unknown", "Its first two letters are not a country of the IBAN registry."}
	case len(iban) != length:
		return &Problem{pointer, "length", fmt.Sprintf("An IBAN of %s has %d characters; this one has %d.", iban[:2], length, len(iban))}
	case iban[2:4] < "02" || iban[2:4] > "98" || mod97(iban[4:]+iban[:4]) != 1:
		return &Problem{pointer, "checksum", "Its check digits do not match; a character is probably mistyped."}
	}
	return nil
}

// mod97 returns the remainder of ISO 7064 MOD 97-10: letters count 10 (A) to 35 (Z).
func mod97(s string) int {
	rest := 0
	for i := range len(s) {
		if c := s[i]; isDigit(c) {
			rest = (rest*10 + int(c-'0')) % 97
		} else {
			rest = (rest*100 + int(c-'A') + 10) % 97
		}
	}
	return rest
}

// validBIC checks the form of ISO 9362 and that the country exists.
func validBIC(bic string) bool {
	return (len(bic) == 8 || len(bic) == 11) && allBytes(bic, isAlphanumeric) &&
		allBytes(bic[:4], isLetter) && IsCountry(bic[4:6])
}

func (i IBAN) canonicalForm() string { return i.IBAN }

// institutionName returns the BIC. Without one, it returns the first four letters of
// the domestic part, which in many countries (GB, NL, IE, …) name the bank.
func (i IBAN) institutionName() string {
	switch {
	case i.BIC != "":
		return i.BIC
	case len(i.IBAN) > 8 && allBytes(i.IBAN[4:8], isLetter):
		return i.IBAN[4:8]
	default:
		return ""
	}
}

func (i IBAN) countryCode() string { return i.IBAN[:min(2, len(i.IBAN))] }

// ibanLengths is the total length per country of the SWIFT IBAN registry.
var ibanLengths = parseLengths(`
	15 NO
	16 BE
	18 DK FI FK FO GL NL SD
	19 MK SI
	20 AT BA EE KZ LT LU MN XK
	21 CH HR LI LV
	22 BG BH CR DE GB GE IE ME RS VA
	23 AE GI IL IQ OM SO TL
	24 AD CZ ES MD PK RO SA SE SK TN VG
	25 LY PT ST
	26 IS TR
	27 BI DJ FR GR IT MC MR SM
	28 AL AZ BY CY DO GT HN HU LB NI PL SV
	29 BR EG PS QA UA
	30 JO KW MU YE
	31 MT SC
	32 LC
	33 RU`)

// parseLengths reads lines of a length and the countries that have it.
func parseLengths(table string) map[string]int {
	byCountry := map[string]int{}
	for line := range strings.Lines(strings.TrimSpace(table)) {
		fields := strings.Fields(line)
		length := int(fields[0][0]-'0')*10 + int(fields[0][1]-'0')
		for _, country := range fields[1:] {
			byCountry[country] = length
		}
	}
	return byCountry
}
