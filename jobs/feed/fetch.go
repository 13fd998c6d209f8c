package feed

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// Defaults of a Fetcher.
const (
	MaxFetchSize = 64 << 20 // bytes, unpacked; the largest USGS feed has about 10 MiB
	FetchTimeout = 60 * time.Second
	// MaxBackOff is the longest time between polls that our own back-off
	// reaches; MaxRetryAfter is what a source may ask for.
	MaxBackOff    = time.Hour
	MaxRetryAfter = 24 * time.Hour
)

// errTooLarge is a source that sends more than the limit.
var errTooLarge = errors.New("the answer is larger than allowed")

// DisplayAddress is what everybody may read of an address: neither its user nor its query nor
// its fragment, which may hold a key of the source.
func DisplayAddress(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Opaque != "" {
		return "…"
	}
	return (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String()
}

// ErrorWithoutAddress is an error of a call without the whole address, which net/http puts before
// it.
func ErrorWithoutAddress(err error) error {
	for of := new(url.Error); errors.As(err, &of); {
		err = of.Err
	}
	return err
}

// Fetcher polls addresses politely: it asks whether there is anything new and
// tells when to ask again. It holds no state of its own, so any process may
// take the next turn.
type Fetcher struct {
	Client  *http.Client  // http.DefaultClient when nil; bring one that guards addresses
	Limit   int64         // bytes; MaxFetchSize when zero
	Timeout time.Duration // of the whole call; FetchTimeout when zero
}

// Poll is what to remember of an address between two fetches.
type Poll struct {
	URL          string
	Interval     time.Duration // between polls when all is well
	ETag         string
	LastModified string
	Failures     int // in a row
}

// Fetched is the result of one fetch.
type Fetched struct {
	Changed bool   // false: nothing new since the poll before
	Body    []byte // nil unless Changed
	// Next is the poll to remember, valid also after an error. Keep it only once
	// Body has been dealt with, or the source will not send it again.
	Next Poll
	Wait time.Duration // until the next fetch
}

// Fetch asks an address whether it has something new. After an error, Wait grows
// with each failure, and is what the source asks for where it does.
func (f *Fetcher) Fetch(ctx context.Context, poll Poll) (Fetched, error) {
	timeout := f.Timeout
	if timeout == 0 {
		timeout = FetchTimeout
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	fetched, asked, err := f.fetchOnce(ctx, poll)
	if err != nil {
		poll.Failures++
		return Fetched{Next: poll, Wait: max(backOff(poll), asked)}, fmt.Errorf("fetch %s: %w", DisplayAddress(poll.URL), ErrorWithoutAddress(err))
	}
	fetched.Next.Failures = 0
	fetched.Wait = max(poll.Interval, asked)
	return fetched, nil
}

func (f *Fetcher) fetchOnce(ctx context.Context, poll Poll) (fetched Fetched, asked time.Duration, err error) {
	request, err := newConditionalRequest(ctx, poll)
	if err != nil {
		return Fetched{}, 0, err
	}
	client := f.Client
	if client == nil {
		client = http.DefaultClient
	}
	response, err := client.Do(request)
	if err != nil {
		return Fetched{}, 0, err
	}
	defer response.Body.Close()
	asked = retryAfter(response.Header)
	switch response.StatusCode {
	case http.StatusNotModified:
		return Fetched{Next: poll}, asked, nil
	case http.StatusOK:
	default:
		return Fetched{}, asked, fmt.Errorf("answered %s", response.Status)
	}
	body, err := f.readBody(response.Body)
	if err != nil {
		return Fetched{}, asked, err
	}
	poll.ETag, poll.LastModified = response.Header.Get("ETag"), response.Header.Get("Last-Modified")
	return Fetched{Changed: true, Body: body, Next: poll}, asked, nil
}

// newConditionalRequest is a request that is answered 304 when nothing changed.
func newConditionalRequest(ctx context.Context, poll Poll) (*http.Request, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, poll.URL, http.NoBody)
	if err != nil {
		return nil, err
	}
	request.Header.Set("User-Agent", "parapet-feed/1")
	if poll.ETag != "" {
		request.Header.Set("If-None-Match", poll.ETag)
	}
	if poll.LastModified != "" {
		request.Header.Set("If-Modified-Since", poll.LastModified)
	}
	return request, nil
}

func (f *Fetcher) readBody(body io.Reader) ([]byte, error) {
	limit := f.Limit
	if limit == 0 {
		limit = MaxFetchSize
	}
	text, err := io.ReadAll(io.LimitReader(body, limit+1))
	if err != nil {
		return nil, err
	}
	if int64(len(text)) > limit {
		return nil, fmt.Errorf("%w: over %d bytes", errTooLarge, limit)
	}
	return text, nil
}

// backOff doubles the interval with each failure in a row. An interval above
// the limit stays as it is.
func backOff(poll Poll) time.Duration {
	wait := max(poll.Interval, time.Second)
	for range poll.Failures {
		if wait >= MaxBackOff/2 {
			return max(MaxBackOff, poll.Interval)
		}
		wait *= 2
	}
	return wait
}

// retryAfter is how long the source asks us to stay away, 0 when it does not. A
// date is measured against the source's own clock, its Date header.
func retryAfter(header http.Header) time.Duration {
	text := header.Get("Retry-After")
	if seconds, err := strconv.ParseInt(text, 10, 32); err == nil {
		return min(max(0, time.Duration(seconds)*time.Second), MaxRetryAfter)
	}
	until, err := http.ParseTime(text)
	if err != nil {
		return 0
	}
	from, err := http.ParseTime(header.Get("Date"))
	if err != nil {
		return 0
	}
	return min(max(0, until.Sub(from)), MaxRetryAfter)
}
