package account_test

import (
	"fmt"
	"math/big"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"parapet/model/account"
)

// withCheckDigit returns a routing number of eight digits with its ninth.
func withCheckDigit(eight string) string {
	sum := 0
	for i, weight := range []int{3, 7, 1, 3, 7, 1, 3, 7} {
		sum += weight * int(eight[i]-'0')
	}
	return eight + string(rune('0'+(10-sum%10)%10))
}

func TestRoutingNumberNamesADistrictInUse(t *testing.T) {
	t.Parallel()
	for district := range 100 {
		routing := withCheckDigit(fmt.Sprintf("%02d100002", district))
		inUse := district <= 12 || district >= 21 && district <= 32 || district >= 61 && district <= 72 || district == 80
		want := "/us_bank_account/routing_number checksum"
		if inUse {
			want = ""
		}
		require.Equal(t, want, problemCodes(usAccount(routing, "1234", account.Checking).Validate()), routing)
	}
}

// The weights detect each wrong digit, and each swap of neighbours unless they differ by
// five.
func TestRoutingNumberFindsMistypedDigits(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(9, 1))
	valid := func(text string) bool { return len(usAccount(text, "1234", account.Savings).Validate()) == 0 }
	for range 300 {
		good := withCheckDigit(fmt.Sprintf("%02d%06d", 1+random.IntN(12), random.IntN(1_000_000)))
		require.True(t, valid(good), good)
		i := random.IntN(9)
		typo := []byte(good)
		typo[i] = '0' + (typo[i]-'0'+byte(1+random.IntN(9)))%10
		require.False(t, valid(string(typo)), "%s for %s", typo, good)
		if i = 2 + random.IntN(6); (good[i]-good[i+1])%5 != 0 && (good[i+1]-good[i])%5 != 0 {
			swap := []byte(good)
			swap[i], swap[i+1] = swap[i+1], swap[i]
			require.False(t, valid(string(swap)), "%s for %s", swap, good)
		}
	}
}

// checkDigitsOf computes the check digits of an IBAN by big integers, as ISO 7064 writes
// it.
func checkDigitsOf(country, domestic string) string {
	var digits strings.Builder
	for _, r := range domestic + country + "00" {
		if r >= 'A' {
			fmt.Fprint(&digits, r-'A'+10)
		} else {
			digits.WriteRune(r)
		}
	}
	number, _ := new(big.Int).SetString(digits.String(), 10)
	return fmt.Sprintf("%02d", 98-new(big.Int).Mod(number, big.NewInt(97)).Int64())
}

func TestRandomIBANsAgainstLongDivision(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(9, 2))
	examples := strings.Fields(ibanRegistryExamples)
	for range 500 {
		example := examples[random.IntN(len(examples))]
		domestic := make([]byte, len(example)-4)
		for i := range domestic {
			domestic[i] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"[random.IntN(36)]
		}
		right := checkDigitsOf(example[:2], string(domestic))
		require.Empty(t, newIBAN(example[:2]+right+string(domestic), "").Validate())
		for _, other := range []string{"00", "01", "99", fmt.Sprintf("%02d", random.IntN(100))} {
			if other != right {
				require.Equal(t, "/iban/iban checksum", problemCodes(newIBAN(example[:2]+other+string(domestic), "").Validate()))
			}
		}
		require.Equal(t, "/iban/iban length", problemCodes(newIBAN(example[:2]+right+string(domestic)+"0", "").Validate()))
	}
}

// 97 is a remainder like 0, 98 like 1 and 99 like 2: only one spelling of each is right.
func TestCheckDigitsOfAnIBANHaveOneSpelling(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for n := range 2000 {
		domestic := fmt.Sprintf("%018d", n)
		right := checkDigitsOf("DE", domestic)
		twin := map[string]string{"97": "00", "98": "01", "02": "99"}[right]
		if twin == "" || seen[right] {
			continue
		}
		seen[right] = true
		require.Empty(t, newIBAN("DE"+right+domestic, "").Validate())
		require.Equal(t, "/iban/iban checksum", problemCodes(newIBAN("DE"+twin+domestic, "").Validate()), twin)
	}
	require.Len(t, seen, 3)
}

func TestUnknownTypeStillReportsItsMembers(t *testing.T) {
	t.Parallel()
	n := newIBAN("DE00", "X")
	n.Type, n.MobileMoney = "cheque", &account.MobileMoney{MSISDN: "+2547", Provider: "mpesa"}
	require.Equal(t, "/type unknown, /iban/iban format, /iban/bic format, /mobile_money/msisdn format", problemCodes(n.Validate()))
	n.Type = ""
	require.Equal(t, "/type required, /iban/iban format, /iban/bic format, /mobile_money/msisdn format", problemCodes(n.Validate()))
	require.Empty(t, n.Canonical())
}

func TestBICOfEightOrElevenCharacters(t *testing.T) {
	t.Parallel()
	for bic, accepted := range map[string]bool{
		"COBADEFF": true, "COBADEFF123": true, "cobadeff xxx": true, "COBADE22": true,
		"COBADEF": false, "COBADEFFX": false, "COBADEFFXX": false, "COBADEFFXXXX": false, "COBADEF-": false, "COB1DEFF": false, "COBAD1FF": false,
	} {
		require.Equal(t, accepted, len(newIBAN("DE89370400440532013000", bic).Validate()) == 0, bic)
	}
}

func TestOnlyTheEndOfANumberIsShown(t *testing.T) {
	t.Parallel()
	for number, shown := range map[string]string{"1234": "34", "12345": "45", "1234567": "567", "12345678": "5678", "123456789": "6789"} {
		require.Equal(t, shown, usAccount("021000021", number, account.Checking).Last4(), "at most half of it")
	}
	for text, masked := range map[string]bool{
		"iban ····3000": true, "us_bank_account ····34": true, "mobile_money ····": true,
		"iban ····13000": false, "iban 3000": false, "cheque ····3000": false, "····3000": false, "": false,
	} {
		require.Equal(t, masked, account.IsMasked(text), text)
	}
	require.Equal(t, "iban ····3000", account.Masked(account.TypeIBAN, "3000"))
}

func TestCountriesAreThoseOfISO3166(t *testing.T) {
	t.Parallel()
	all := 0
	for a := 'A'; a <= 'Z'; a++ {
		for b := 'A'; b <= 'Z'; b++ {
			if account.IsCountry(string([]rune{a, b})) {
				all++
			}
		}
	}
	require.Equal(t, 249+1, all, "the assigned codes, and XK")
	for _, code := range []string{"", "D", "DEU", "de", "EU", "UK", "AN", "SU", "ZZ"} {
		require.False(t, account.IsCountry(code), code)
	}
}
