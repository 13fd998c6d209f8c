// Package product reads products as data: versioned, immutable documents that
// hold a context schema, an index, a place, a trigger, a payout shape, times,
// settlement, price parameters, limits and worked examples. A document whose
// worked examples fail cannot be published.
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

// Product is one version of a product: the document, ready to price and to make
// covers. It never changes and is safe for concurrent use.
type Product struct {
	document Document
	source   []byte
	context  *schema
}

// Parse reads a product document. It tells every fault of form at once, with the
// path of each and what would be right: a *DocumentError, unless it is no document
// at all. Whether the product works is Check's business.
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

// Source is the document as it was written.
func (p *Product) Source() []byte { return slices.Clone(p.source) }

// Digest is the SHA-256 of the source, in hexadecimal: two products with the
// same digest are the same to the byte.
func (p *Product) Digest() string {
	sum := sha256.Sum256(p.source)
	return hex.EncodeToString(sum[:])
}

// Key is the slug that quotes name.
func (p *Product) Key() string { return p.document.Key }

// Version counts the product's documents from 1.
func (p *Product) Version() int { return p.document.Version }

// ContextSchema is the JSON Schema of the quote's context, in the author's order.
func (p *Product) ContextSchema() jsontext.Value { return p.document.Context.Clone() }

// Document is the product's data, for showing it. Callers must not change what
// its slices, maps and pointers lead to.
func (p *Product) Document() Document { return p.document }

// AutomaticUpTo is the amount in minor units, itself included, that is paid
// without an operator; 0 for a currency the product does not name.
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

// Shipped are the products that come with the binary, ordered by key. A test
// holds each of them against Check. It panics when one cannot be read, which
// only a broken build can cause.
func Shipped() []*Product {
	products, err := shippedProducts()
	if err != nil {
		panic(err)
	}
	return slices.Clone(products)
}
