package product_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"parapet/model/hazard"
	"parapet/model/money"
	"parapet/model/quoting/product"
)

// faultOf reads a context of a shipped product with one more member and returns the
// pointer and code of its only fault, empty without one.
func faultOf(t *testing.T, key, member string) string {
	t.Helper()
	_, err := shippedProduct(t, key).Read([]byte(`{"partner":"acme",`+member+`}`), asOf, hazard.Shipped())
	if err == nil {
		return ""
	}
	var wrong *product.ContextError
	require.ErrorAs(t, err, &wrong)
	require.Len(t, wrong.Fields, 1, member)
	return wrong.Fields[0].Pointer + " " + wrong.Fields[0].Code
}

func TestFirstAndLastStartAndTermAreAccepted(t *testing.T) {
	t.Parallel()
	for member, want := range map[string]string{
		`"starts_at":"2026-03-01T12:00:00Z"`:        "",
		`"starts_at":"2026-03-01T13:00:00+01:00"`:   "",
		`"starts_at":"2026-03-01t12:00:00z"`:        "",
		`"starts_at":"2026-03-01T11:59:59.999999Z"`: "/context/starts_at minimum",
		`"starts_at":"2027-03-01T12:00:00Z"`:        "",
		`"starts_at":"2027-03-01T12:00:00.000001Z"`: "/context/starts_at maximum",
		`"starts_at":"2027-03-01T13:00:00.1+01:00"`: "/context/starts_at maximum",
		`"term":"P1D"`:   "",
		`"term":"P366D"`: "",
		`"term":"P12M"`:  "",
		`"term":"P0D"`:   "/context/term minimum",
		`"term":"P52W"`:  "",
		`"term":"P13M"`:  "/context/term maximum",
		`"term":"P1Y1D"`: "",
		`"term":"P1Y2D"`: "/context/term maximum",
		`"starts_at":"2027-03-01T12:00:00Z","term":"P1Y"`:          "",
		`"starts_at":"2027-03-01T12:00:00Z","term":"P1Y1D"`:        "/context/term maximum",
		`"starts_at":"2027-02-28T12:00:00Z","term":"P1Y"`:          "",
		`"starts_at":null,"term":"P365D"`:                          "",
		`"starts_at":"2026-06-01T00:00:00Z","term":"P9999999999Y"`: "/context/term format",
	} {
		require.Equal(t, want, faultOf(t, "quake-circle", member), member)
	}
}

func TestFirstAndLastLimitOfEachCurrencyAreAccepted(t *testing.T) {
	t.Parallel()
	for _, p := range product.Shipped() {
		for _, c := range p.Document().Currencies {
			limit := func(amount int64) string { return fmt.Sprintf(`"limit":{"amount":%d,"currency":%q}`, amount, c.Code) }
			name := p.Key() + " " + c.Code
			require.Empty(t, faultOf(t, p.Key(), limit(c.MinimumLimit)), name)
			require.Empty(t, faultOf(t, p.Key(), limit(c.MaximumLimit)), name)
			require.Equal(t, "/context/limit/amount minimum", faultOf(t, p.Key(), limit(c.MinimumLimit-1)), name)
			require.Equal(t, "/context/limit/amount maximum", faultOf(t, p.Key(), limit(c.MaximumLimit+1)), name)
			r, err := p.Read([]byte(`{"partner":"acme",`+limit(c.MaximumLimit)+`}`), asOf, hazard.Shipped())
			require.NoError(t, err)
			priced, err := r.Price(nil, nil)
			require.NoError(t, err, name)
			require.Equal(t, money.New(c.MaximumLimit, c.Code), priced.Cover.Limit)
			require.GreaterOrEqual(t, priced.Price.Premium.Amount, c.MinimumPremium, name)
		}
	}
}

func TestPremiumIsAtLeastTheMinimumOfItsCurrency(t *testing.T) {
	t.Parallel()
	p := shippedProduct(t, "quake-circle")
	for _, c := range p.Document().Currencies {
		context := fmt.Sprintf(`{"partner":"acme","location":{"latitude":52.5,"longitude":13.4},"radius_km":5,"term":"P1D","limit":{"amount":%d,"currency":%q}}`, c.MinimumLimit, c.Code)
		q, err := p.Price([]byte(context), asOf, hazard.Shipped())
		require.NoError(t, err)
		require.Equal(t, money.New(c.MinimumPremium, c.Code), q.Price.Premium, c.Code)
	}
}

func TestInvalidContextKeepsItsValidPolicyholder(t *testing.T) {
	t.Parallel()
	r, err := shippedProduct(t, "quake-circle").Read([]byte(`{"radius_km":1,"policyholder":{"name":"Lin","email":"no address","country":"TW"}}`), asOf, hazard.Shipped())
	var wrong *product.ContextError
	require.ErrorAs(t, err, &wrong)
	var pointers []string
	for _, f := range wrong.Fields {
		pointers = append(pointers, f.Pointer)
	}
	require.Equal(t, []string{"/context/partner", "/context/policyholder/email", "/context/radius_km"}, pointers)
	require.Equal(t, &product.Policyholder{Name: "Lin", Country: "TW"}, r.Policyholder)
	require.Equal(t, strings.Join([]string{wrong.Fields[0].Detail, wrong.Fields[1].Detail, wrong.Fields[2].Detail}, " "), err.Error())
}

func TestCoverOfAContextDoesNotChangeItsProduct(t *testing.T) {
	t.Parallel()
	p := shippedProduct(t, "quake-circle")
	before := fmt.Sprintf("%+v", p.Document())
	for range 2 {
		q, err := p.Price([]byte(`{"partner":"acme","steps":[{"threshold":"7","factor":"1"}],"maximum_depth_km":5}`), asOf, hazard.Shipped())
		require.NoError(t, err)
		require.Len(t, q.Cover.Payout.Steps, 1)
		require.Equal(t, "5", q.Cover.Trigger.MaximumDepthKM.String())
		q.Cover.Payout.Steps[0].Threshold = q.Cover.Payout.Steps[0].Factor
	}
	require.Equal(t, before, fmt.Sprintf("%+v", p.Document()))
	source := p.Source()
	source[0] = '!'
	require.NotEqual(t, source, p.Source())
	schema := p.ContextSchema()
	schema[0] = '!'
	require.NotEqual(t, schema, p.ContextSchema())
	all := product.Shipped()
	all[0] = nil
	require.NotNil(t, product.Shipped()[0])
}

func TestStartOfACoverIsInUTCAndMicroseconds(t *testing.T) {
	t.Parallel()
	q, err := shippedProduct(t, "quake-circle").Price([]byte(`{"partner":"acme","starts_at":"2026-06-01T09:00:00.123456789+09:00"}`), asOf, hazard.Shipped())
	require.NoError(t, err)
	require.Equal(t, time.Date(2026, 6, 1, 0, 0, 0, 123456000, time.UTC), *q.Cover.StartsAt)
	q, err = shippedProduct(t, "quake-circle").Price([]byte(`{"partner":"acme","starts_at":null}`), asOf, hazard.Shipped())
	require.NoError(t, err)
	require.Nil(t, q.Cover.StartsAt, "the cover starts when it is bound")
}
