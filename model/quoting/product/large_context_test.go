package product_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"parapet/model/hazard"
	"parapet/model/quoting/product"
)

// TestContextAcceptsLargestBody sends large, expensive contexts: the answer stays
// short.
func TestContextAcceptsLargestBody(t *testing.T) {
	t.Parallel()
	fill := func(part string) string { return strings.Repeat(part, 1<<17/len(part)) }
	for name, context := range map[string]string{
		"items without members": `{"partner":"a","steps":[` + fill(`{},`) + `{}]}`,
		"items with strangers":  `{"partner":"a","steps":[` + fill(`{"x":0},`) + `{}]}`,
		"a long number":         `{"partner":"a","radius_km":` + fill("7") + `}`,
		"a long fraction":       `{"partner":"a","radius_km":50.` + fill("7") + `}`,
		"a long threshold":      `{"partner":"a","steps":[{"threshold":"` + fill("7") + `","factor":"1"}]}`,
		"a long name":           `{"partner":"a","` + fill("x") + `":1}`,
		"a long partner":        `{"partner":"` + fill("x") + `"}`,
		"a long station":        `{"partner":"a","station":"` + fill("x") + `"}`,
		"a long term":           `{"partner":"a","term":"P` + fill("1") + `D"}`,
		"a long email":          `{"partner":"a","policyholder":{"name":"b","email":"` + fill("a@") + `"}}`,
		"deep":                  `{"partner":"a","location":` + fill("[") + `}`,
		"many strangers":        `{"partner":"a","b":[` + fill(`{"x":0},`) + `0]}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, p := range []*product.Product{shippedProduct(t, "quake-circle"), shippedProduct(t, "rain-excess")} {
				_, err := p.Price([]byte(context), asOf, hazard.Shipped())
				var wrong *product.ContextError
				if errors.As(err, &wrong) {
					require.LessOrEqual(t, len(wrong.Fields), 3)
					require.Less(t, len(wrong.Error()), 1000)
				}
			}
		})
	}
}
