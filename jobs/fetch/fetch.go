// Package fetch polls the addresses of hazard sources with conditional requests.
package fetch

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"path"
	"strconv"
	"time"

	"parapet/model/hazard"
)

// Defaults of a Fetcher.
const (
	MaxFetchSize = 64 << 20 // bytes, uncompressed; the largest USGS feed has about 10 MiB
	FetchTimeout = 60 * time.Second
	// MaxBackOff limits our own back-off between polls; MaxRetryAfter limits the wait
	// that a source may ask for.
	MaxBackOff    = time.Hour
	MaxRetryAfter = 24 * time.Hour
)

// errTooLarge reports a response above the limit.
var errTooLarge = errors.New("the answer is larger than allowed")

// DisplayAddress returns the address without user, query and fragment, which may hold a
// key of the source.
func DisplayAddress(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Opaque != "" {
		return "…"
	}
	return (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String()
}

// NewFile describes a file by its address, or its name on this machine, and its content.
func NewFile(address string, content []byte) *hazard.File {
	file := &hazard.File{SHA256: sha256.Sum256(content), Path: path.Base(address)}
	if u, err := url.Parse(address); err == nil && u.Host != "" {
		file.Host, file.Path = u.Host, u.Path
	}
	return file
}

// ErrorWithoutAddress strips the full address that net/http puts before an error.
func ErrorWithoutAddress(err error) error {
	for of := new(url.Error); errors.As(err, &of); {
		err = of.Err
	}
	return err
}

// Fetcher polls addresses with conditional requests and computes when to poll again. It
// holds no state, so any process may do the next poll.
type Fetcher struct {
	Client  *http.Client  // http.DefaultClient when nil; pass one that guards addresses
	Limit   int64         // bytes; MaxFetchSize when zero
	Timeout time.Duration // of the whole call; FetchTimeout when zero
}

// Poll is the state of an address between two fetches.
type Poll struct {
	URL          string
	Interval     time.Duration // between polls without failures
	ETag         string
	LastModified string
	Failures     int // in a row
}

// Fetched is the result of one fetch.
type Fetched struct {
	Changed bool   // false: nothing new since the previous poll
	Body    []byte // nil unless Changed
	// Next is the state to save, valid also after an error. Save it only after Body has
	// been processed, or the source will not send it again.
	Next Poll
	Wait time.Duration // until the next fetch
}

// Fetch asks an address for new content. After an error, Wait grows with each failure, or
// is what the source asks for.
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
	case http.StatusNotModified, http.StatusNoContent: // an FDSN service without an event answers 204
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

// newConditionalRequest returns a request that the source answers with 304 when nothing
// has changed.
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

// backOff doubles the interval with each failure in a row, up to MaxBackOff. An interval
// above the limit stays unchanged.
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

// retryAfter returns the wait that the source asks for, 0 without one. A date is measured
// against the source's own clock, its Date header.
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
