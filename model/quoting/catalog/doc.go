// Package catalog publishes and reads product versions. A published version never
// changes, so it has no states. A publication inserts its row or finds it; it takes no
// locks. Each process caches versions without a limit of time, and the list of the newest
// versions for productCacheTTL. Start reading at product_publish.go, then
// product_cache.go.
package catalog
