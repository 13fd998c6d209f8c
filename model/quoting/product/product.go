package product

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io/fs"
	"slices"
	"sync"

	"github.com/go-json-experiment/json/jsontext"
)

// Product is one version of a product: the parsed document, which prices quotes and
// builds covers. It never changes and is safe for concurrent use.
type Product struct {
	document Document
	source   []byte
	context  *schema
}

// Parse parses a product document. It returns all formal faults at once, each with its
// path and what is valid: a *DocumentError, unless the text is not a document at all.
// Check verifies whether the product works.
func Parse(source []byte) (*Product, error) {
	document, err := decodeDocument(source)
	if err != nil {
		return nil, fmt.Errorf("product document: %w", err)
	}
	context, err := readSchema(document.Context)
	if err != nil {
		return nil, fmt.Errorf("product document: %w", &DocumentError{[]Field{newDocumentFault("/context", "not a usable JSON Schema: %v", err)}})
	}
	return &Product{document: document, source: slices.Clone(source), context: context}, nil
}

// Source returns the document as written.
func (p *Product) Source() []byte { return slices.Clone(p.source) }

// Digest returns the SHA-256 of the source, in hexadecimal: products with equal digests
// have identical sources.
func (p *Product) Digest() string {
	sum := sha256.Sum256(p.source)
	return hex.EncodeToString(sum[:])
}

// Key returns the slug that quotes use.
func (p *Product) Key() string { return p.document.Key }

// Version returns the number of the product's document, from 1.
func (p *Product) Version() int { return p.document.Version }

// ContextSchema returns the JSON Schema of the quote's context, in the author's order.
func (p *Product) ContextSchema() jsontext.Value { return p.document.Context.Clone() }

// Document returns the product's data for display. Callers must not change its slices,
// maps and pointers.
func (p *Product) Document() Document { return p.document }

// AutomaticUpTo returns the amount in minor units up to which, inclusive, payouts need
// no operator; 0 for a currency the product does not name.
func (p *Product) AutomaticUpTo(currency string) int64 {
	return p.document.Settlement.AutomaticUpTo[currency]
}

//go:embed catalog/*.yaml
var catalog embed.FS

var shippedProducts = sync.OnceValues(func() ([]*Product, error) {
	files, err := fs.Glob(catalog, "catalog/*.yaml")
	if err != nil {
		return nil, err
	}
	products := make([]*Product, 0, len(files))
	for _, file := range files {
		source, err := catalog.ReadFile(file)
		if err != nil {
			return nil, err
		}
		product, err := Parse(source)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		products = append(products, product)
	}
	return products, nil
})

// Shipped returns the products embedded in the binary, ordered by key. A test runs
// Check on each. It panics if one cannot be parsed, which only a broken build can
// cause.
func Shipped() []*Product {
	products, err := shippedProducts()
	if err != nil {
		panic(err)
	}
	return slices.Clone(products)
}
