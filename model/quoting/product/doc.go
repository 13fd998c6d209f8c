// Package product parses products: versioned, immutable documents with a context schema,
// an index, a place, a trigger, a payout shape, times, settlement, price parameters,
// limits and worked examples. A document whose worked examples fail cannot be published.
// catalog has the documents that ship with the release.
//
// Document is the parsed text, Product builds covers from it. Package quoting/catalog
// keeps the published versions. The package is pure: no states, no locks. Start reading
// at product.go, then document.go.
package product
