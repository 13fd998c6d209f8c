package product

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/golang-lru/v2/simplelru"

	"parapet/model/hazard"
	"parapet/model/quoting/pricing"
)

// The bounds of a PriceCache: at most cachedPrices prices, of about twenty kilobytes each
// with their encoded form, and as many requests, of at most ten kilobytes each.
const (
	cachedPrices   = 1000
	cachedRequests = 1000
	maxContext     = 2 << 10 // of a cached request, in bytes
)

// PriceCache holds the prices of covers that were priced recently, and the requests that
// asked for them: applications ask for the same cover many times, reading a context takes
// 0.1 ms of processor, and pricing 0.2 to 1 ms. The zero value is ready, and nil holds
// nothing. It may be used concurrently.
type PriceCache struct {
	mu       sync.Mutex
	history  *hazard.History // of all prices and requests
	prices   *simplelru.LRU[priceKey, *price]
	requests *simplelru.LRU[requestKey, *Request]
}

// priceKey is what a price depends on besides the history. A season has whole days, and
// Read has checked what depends on the time of day.
type priceKey struct {
	terms string // with the product's version and the commission
	day   string // on which cover starts, in UTC
}

// price is a result of pricing.Burn. It never changes.
type price struct {
	price   pricing.Price
	basis   pricing.Basis
	past    []pricing.PastEvent
	derived atomic.Value // see QuoteResult.Derived
}

// requestKey is what a Request without a start of its own depends on besides the history,
// which has one data edition and set of stations.
// Cover starts at the instant of the request. Read checks again what depends on its time of
// day. The commission and the limits of a partner are no part of a Request.
type requestKey struct {
	product *Product // one version; it never changes
	partner string   // the caller, which the context may not name
	context string
	day     string // of the request, in UTC
}

// selectHistory resets the cache when the history changes: nothing asks for prices of the history
// before. The caller holds the lock.
func (c *PriceCache) selectHistory(h *hazard.History) {
	if c.history == h {
		return
	}
	c.history = h
	c.prices, _ = simplelru.NewLRU[priceKey, *price](cachedPrices, nil) // it only refuses a size below 1
	c.requests, _ = simplelru.NewLRU[requestKey, *Request](cachedRequests, nil)
}

// Read is Product.Read, except that it takes the result of an equal request of the same
// partner on the same day from the cache. It keeps no request with a policyholder or with
// members that the product does not know, because these may be personal data, and none
// with a start of cover, because that is valid until an instant.
func (c *PriceCache) Read(p *Product, partner string, context []byte, asOf time.Time, h *hazard.History) (*Request, error) {
	if c == nil || len(context) > maxContext {
		return p.Read(context, asOf, h)
	}
	key := requestKey{p, partner, string(context), asOf.UTC().Format(time.DateOnly)}
	if known := c.findRequest(h, key); known != nil && pricing.CheckTerm(known.cover, asOf) == nil {
		return known.at(asOf), nil
	}
	r, err := p.Read(context, asOf, h)
	if err == nil && r.cover.StartsAt == nil && r.Policyholder == nil && len(r.input.ignored) == 0 {
		r.termsHash = r.hashTerms()
		c.mu.Lock()
		defer c.mu.Unlock()
		c.selectHistory(h)
		c.requests.Add(key, r)
	}
	return r, err
}

func (c *PriceCache) findRequest(h *hazard.History, key requestKey) *Request {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.selectHistory(h)
	known, _ := c.requests.Get(key)
	return known
}

// at returns a copy of a request at another instant of the same day: what a refusal
// suggests depends on the instant.
func (r *Request) at(asOf time.Time) *Request {
	request, input := *r, *r.input
	input.asOf = asOf.UTC()
	request.input = &input
	return &request
}

func (c *PriceCache) findPrice(h *hazard.History, key priceKey) *price {
	if c == nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.selectHistory(h)
	known, _ := c.prices.Get(key)
	return known
}

func (c *PriceCache) addPrice(h *hazard.History, key priceKey, p *price) {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.history == h {
		c.prices.Add(key, p)
	}
}

// burn is pricing.Burn, except that it takes the price of an equal request from the cache.
// Terms must be equal for equal covers and parameters only.
func (r *Request) burn(cache *PriceCache, terms string, parameters pricing.Parameters) (*price, error) {
	key := priceKey{terms, r.input.startOf(&r.cover).UTC().Format(time.DateOnly)}
	if known := cache.findPrice(r.history, key); known != nil {
		return known, nil
	}
	p := new(price)
	var err error
	p.price, p.basis, p.past, err = pricing.Burn(r.cover, parameters, r.history, r.input.asOf)
	if err == nil { // what a refusal suggests depends on asOf
		cache.addPrice(r.history, key, p)
	}
	return p, err
}
