// Package catalog publishes and reads product versions. A published version never changes.
// Each process caches versions without a limit of time and the list of newest versions for
// seconds. Start reading at product_publish.go.
package catalog
