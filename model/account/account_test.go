package account_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/stretchr/testify/require"

	"parapet/model/account"
)

func usAccount(routing, number string, kind account.AccountType) account.Number {
	return account.Number{Type: account.TypeUSBankAccount, USBankAccount: &account.USBankAccount{
		RoutingNumber: routing, AccountNumber: number, AccountType: kind,
	}}
}

func newWallet(msisdn, provider string) account.Number {
	return account.Number{Type: account.TypeMobileMoney, MobileMoney: &account.MobileMoney{MSISDN: msisdn, Provider: provider}}
}

func problemCodes(problems []account.Problem) string {
	var all []string
	for _, p := range problems {
		all = append(all, p.Pointer+" "+p.Code)
	}
	return strings.Join(all, ", ")
}

func TestValidate(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name   string
		number account.Number
		want   string
	}{
		{"US account", usAccount("021000021", "000123456789", account.Checking), ""},
		{"US account with spaces", usAccount("1110 0002 5", "1234 5678", account.Savings), ""},
		{"shortest account number", usAccount("011401533", "1234", account.Checking), ""},
		{"longest account number", usAccount("091000019", strings.Repeat("1", 17), account.Checking), ""},
		{"account number too short", usAccount("091000019", "123", account.Checking), "/us_bank_account/account_number length"},
		{"account number too long", usAccount("091000019", strings.Repeat("1", 18), account.Checking), "/us_bank_account/account_number length"},
		{"routing check digit", usAccount("021000022", "1234", account.Checking), "/us_bank_account/routing_number checksum"},
		{"routing all zero", usAccount("000000000", "1234", account.Checking), "/us_bank_account/routing_number checksum"},
		{"routing of no district", usAccount("990000006", "1234", account.Checking), "/us_bank_account/routing_number checksum"},
		{"everything wrong", usAccount("12", "12A4", "gold"), "/us_bank_account/routing_number format, /us_bank_account/account_number format, /us_bank_account/account_type unknown"},
		{"everything missing", usAccount("", "", ""), "/us_bank_account/routing_number required, /us_bank_account/account_number required, /us_bank_account/account_type required"},
		{"wallet", newWallet("+254 712 345 678", "M-Pesa"), ""},
		{"shortest telephone", newWallet("+2907123", "ert"), ""},
		{"telephone without country", newWallet("0712345678", "mpesa"), "/mobile_money/msisdn format"},
		{"country code zero", newWallet("+0712345678", "mpesa"), "/mobile_money/msisdn format"},
		{"sixteen digits", newWallet("+2547123456789012", "mpesa"), "/mobile_money/msisdn format"},
		{"wallet empty", newWallet("", ""), "/mobile_money/msisdn required, /mobile_money/provider required"},
		{"provider with slash", newWallet("+254712345678", "m/pesa"), "/mobile_money/provider format"},
		{"no type", account.Number{}, "/type required"},
		{"strange type", account.Number{Type: "cheque"}, "/type unknown"},
		{"member missing", account.Number{Type: account.TypeIBAN}, "/iban required"},
		{"two members", account.Number{Type: account.TypeIBAN, IBAN: &account.IBAN{IBAN: "NO9386011117947"}, MobileMoney: &account.MobileMoney{}}, "/mobile_money not_allowed"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, test.want, problemCodes(test.number.Validate()))
		})
	}
}

func TestCanonicalIdentifiesAccount(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		number                                   account.Number
		canonical, last4, institution, inCountry string
	}{
		{newIBAN("de89 3704 0044 0532 0130 00", ""), "iban:DE89370400440532013000", "3000", "", "DE"},
		{usAccount("021000021", "000123456789", account.Savings), "us_bank_account:021000021/000123456789", "6789", "", "US"},
		{usAccount("021000021", "12345", account.Savings), "us_bank_account:021000021/12345", "45", "", "US"},
		{newWallet("+254712345678", "mpesa"), "mobile_money:mpesa/+254712345678", "5678", "mpesa", ""},
		{account.Number{}, "", "", "", ""},
	} {
		require.Equal(t, test.canonical, test.number.Canonical())
		require.Equal(t, test.last4, test.number.Last4())
		require.Equal(t, test.institution, test.number.Institution())
		require.Equal(t, test.inCountry, test.number.Country())
	}
}

func TestNumbersAreNeverPrinted(t *testing.T) {
	t.Parallel()
	person := account.Beneficiary{Name: "Lin Mei", Country: "TW"}
	for _, n := range []account.Number{
		newIBAN("DE89370400440532013000", ""), usAccount("021000021", "000123456789", account.Checking), newWallet("+254712345678", "mpesa"),
	} {
		var log bytes.Buffer
		slog.New(slog.NewJSONHandler(&log, nil)).Info("x", "number", n, "to", person)
		holder := struct {
			N account.Number
			P account.Beneficiary
		}{n, person}
		out := log.String() + fmt.Sprintf("%v %+v %#v %s %q %x %v %#v", n, n, n, n, n, n, &n, holder)
		if n.IBAN != nil {
			out += fmt.Sprintf("%v %+v", *n.IBAN, n.IBAN)
		}
		for _, secret := range []string{"37040044", "00012345", "71234", "Mei"} {
			require.NotContains(t, out, secret)
		}
		require.Contains(t, out, "····"+n.Last4())
		require.True(t, account.IsMasked(n.String()))
	}
}

func TestNumberJSONMatchesRequest(t *testing.T) {
	t.Parallel()
	text, err := json.Marshal(usAccount("021000021", "1234", account.Checking))
	require.NoError(t, err)
	require.JSONEq(t, `{"type":"us_bank_account","us_bank_account":{"routing_number":"021000021","account_number":"1234","account_type":"checking"}}`, string(text))
	var back account.Number
	require.NoError(t, json.Unmarshal([]byte(`{"type":"iban","iban":{"iban":"NO93 8601 1117 947","bic":"DNBANOKK"}}`), &back))
	require.Equal(t, newIBAN("NO93 8601 1117 947", "DNBANOKK"), back)
}

func TestBeneficiary(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		person account.Beneficiary
		want   string
	}{
		{account.Beneficiary{Name: "林美", Country: "TW"}, ""},
		{account.Beneficiary{Name: strings.Repeat("é", 140), Country: "XK"}, ""},
		{account.Beneficiary{Name: strings.Repeat("é", 141), Country: "XK"}, "/name length"},
		{account.Beneficiary{Name: " "}, "/name required, /country required"},
		{account.Beneficiary{Name: "A", Country: "tw"}, "/country unknown"},
		{account.Beneficiary{Name: "A", Country: "UK"}, "/country unknown"},
	} {
		require.Equal(t, test.want, problemCodes(test.person.Validate()))
	}
}

// No input panics, no problem contains the number, and a valid number stays valid and
// the same account after Normalize.
func FuzzValidate(f *testing.F) {
	f.Add("GB29NWBK60161331926819", "NWBKGB2L")
	f.Add("021000021", "000123456789")
	f.Add("+254712345678", "mpesa")
	f.Fuzz(func(t *testing.T, a, b string) {
		for _, n := range []account.Number{newIBAN(a, b), usAccount(a, b, account.Checking), newWallet(a, b)} {
			problems := n.Validate()
			for _, p := range problems {
				require.False(t, len(a) > 6 && strings.Contains(p.Detail, a))
			}
			require.LessOrEqual(t, len(n.Last4()), 4)
			if len(problems) == 0 {
				require.Empty(t, n.Normalize().Validate())
				require.Equal(t, n.Canonical(), n.Normalize().Canonical())
			}
		}
	})
}
