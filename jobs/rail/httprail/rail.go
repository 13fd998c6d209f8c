// Package httprail pays through an HTTP rail (PROTOCOL.md). It accepts only complete,
// signed answers to the exact request and key; anything else leaves the payment in doubt.
package httprail

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"github.com/go-json-experiment/json"

	"parapet/internal/egress"
	"parapet/internal/tracing"
	"parapet/jobs/rail"
)

// Name is the rail's name as payouts show it.
const Name = "http"

// Timeout bounds one call. It is below the time that a payout's job allows, so that the
// doubt is recorded.
const Timeout = 15 * time.Second

// Size limits of answers; a longer answer leaves the payment in doubt.
const (
	maxAnswerSize = 64 << 10
	maxPageSize   = 4 << 20
)

// Codes of payments in doubt.
const (
	codeUnsigned   = "answer_unsigned"
	codeUnreadable = "answer_unreadable"
)

// Config is the rail's address and its capabilities.
type Config struct {
	URL          *url.URL // base of the protocol's paths
	Account      string   // fingerprint of the paying account, if configured
	Secrets      Secrets
	Client       *http.Client // follows no redirects; see egress
	Now          func() time.Time
	Capabilities rail.Capabilities
	GroupSize    int // most orders of one POST /transfers/batch; less than two if the rail does not offer it
}

// Rail implements rail.Rail and rail.GroupRail.
type Rail struct{ config Config }

// New returns a rail; it does not connect.
func New(c Config) *Rail {
	c.Capabilities.Inquirable = true
	return &Rail{c}
}

// Name implements rail.Rail.
func (*Rail) Name() string { return Name }

// Identity implements rail.Rail. Different spellings of an address give the same
// identity.
func (r *Rail) Identity() rail.Identity {
	at := *r.config.URL
	at.Host = strings.ToLower(at.Host)
	if port := at.Port(); port == "443" && at.Scheme == "https" || port == "80" && at.Scheme == "http" {
		at.Host = strings.TrimSuffix(at.Host, ":"+port)
	}
	return rail.Identity{Address: strings.TrimRight(at.String(), "/"), Account: r.config.Account}
}

// Capabilities implements rail.Rail.
func (r *Rail) Capabilities() rail.Capabilities { return r.config.Capabilities }

var errStatus = errors.New("the rail answered with another status than the protocol's")

// Verify implements rail.Rail.
func (r *Rail) Verify(ctx context.Context, payee rail.Payee) (rail.Verification, error) {
	var said AccountCheckResult
	status, _, err := r.callRail(ctx, http.MethodPost, "accounts/check", "", AccountCheck{payee.Beneficiary, payee.Number.Normalize()}, &said, maxAnswerSize)
	switch {
	case err != nil:
		return rail.Verification{}, err
	case status != http.StatusOK:
		return rail.Verification{}, fmt.Errorf("%w: %d", errStatus, status)
	case said.Verified == nil || said.Code == "":
		return rail.Verification{}, errIncomplete
	}
	return rail.Verification{Verified: *said.Verified, Method: Name, Code: said.Code}, nil
}

// Send implements rail.Rail.
func (r *Rail) Send(ctx context.Context, i rail.Instruction) rail.Result {
	if !r.config.Capabilities.SupportsCurrency(i.Amount.Currency) {
		return rail.Result{Outcome: rail.Refused, Code: rail.CodeCurrencyUnsupported}
	}
	guard := &orderBody{expired: func() bool { return i.Expired(r.config.Now()) }}
	result := r.callTransfer(withOrderBody(ctx, guard), http.MethodPost, "transfers", i.Key, newOrder(i))
	switch {
	case guard.heldBack.Load():
		return rail.Result{Outcome: rail.NotSent, Code: rail.CodeExpired}
	case result.Outcome == rail.NotFound:
		return rail.InDoubt(codeUnreadable, errUnknownStatus) // valid only for an inquiry
	case result.Outcome == rail.Unknown && !guard.read.Load():
		result.Outcome = rail.NotSent
	}
	return result
}

func newOrder(i rail.Instruction) Order {
	return Order{i.Key, i.PayoutID, i.Amount, i.Payee.Beneficiary, i.Payee.Number.Normalize(), i.ExpiresAt.UTC().Truncate(time.Microsecond)}
}

// Inquire implements rail.Rail.
func (r *Rail) Inquire(ctx context.Context, key string) rail.Result {
	var connected atomic.Bool
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { connected.Store(true) }})
	result := r.callTransfer(ctx, http.MethodGet, "transfers/"+url.PathEscape(key), key, nil)
	switch {
	case result.Outcome == rail.NotSent:
		return rail.InDoubt(codeUnreadable, errUnknownStatus) // valid only for an order
	case result.Outcome == rail.Unknown && !connected.Load():
		result.Outcome = rail.NotSent
	}
	return result
}

// Void implements rail.Rail.
func (r *Rail) Void(ctx context.Context, key string) rail.Result {
	result := r.callTransfer(ctx, http.MethodPost, "transfers/"+url.PathEscape(key)+"/void", key, VoidRequest{key})
	if result.Outcome == rail.NotFound || result.Outcome == rail.NotSent {
		return rail.InDoubt(codeUnreadable, errUnknownStatus)
	}
	return result
}

// allowedStatuses maps each HTTP status to the transfer statuses it may carry. A refusal
// and an unknown key have their own HTTP statuses, so that a proxy's error page is not
// mistaken for either.
var allowedStatuses = map[int][]string{
	http.StatusOK:                  {statusAccepted, statusRefused, statusPending, statusVoided},
	http.StatusCreated:             {statusAccepted},
	http.StatusAccepted:            {statusPending},
	http.StatusUnprocessableEntity: {statusRefused, statusExpired},
	http.StatusNotFound:            {statusNotFound},
}

func (r *Rail) callTransfer(ctx context.Context, method, path, key string, body any) rail.Result {
	var said Transfer
	status, code, err := r.callRail(ctx, method, path, key, body, &said, maxAnswerSize)
	if err != nil {
		return rail.InDoubt(code, err)
	}
	for _, word := range allowedStatuses[status] {
		if said.Status == word {
			return said.toResult(key)
		}
	}
	return rail.InDoubt(codeUnreadable, fmt.Errorf("%w: %d", errStatus, status))
}

// Report implements rail.Rail. It reads all pages; a report whose last page has a wrong
// line count is invalid.
func (r *Rail) Report(ctx context.Context, day time.Time, each func(rail.Line) error) error {
	date, cursor, lines := day.Format(time.DateOnly), "", 0
	for {
		page, err := r.fetchPage(ctx, date, cursor)
		if err != nil {
			return err
		}
		for _, reported := range page.Lines {
			line, err := reported.toLine(day)
			if err == nil {
				err = each(line)
			}
			if err != nil {
				return err
			}
		}
		lines += len(page.Lines)
		switch {
		case page.NextCursor == "" && (page.TotalLines == nil || *page.TotalLines != lines):
			return fmt.Errorf("%w: it has %d lines and counts others", rail.ErrInvalidReport, lines)
		case page.NextCursor == "":
			return nil
		case page.NextCursor == cursor || len(page.Lines) == 0:
			return fmt.Errorf("%w: its pages do not go on", rail.ErrInvalidReport)
		}
		cursor = page.NextCursor
	}
}

func (r *Rail) fetchPage(ctx context.Context, date, cursor string) (*ReportPage, error) {
	path := "reports/" + date
	if cursor != "" {
		path += "?cursor=" + url.QueryEscape(cursor)
	}
	page := new(ReportPage)
	status, _, err := r.callRail(ctx, http.MethodGet, path, "", nil, page, maxPageSize)
	switch {
	case err != nil:
		return nil, err
	case status == http.StatusNotFound:
		return nil, rail.ErrNoReport
	case status != http.StatusOK:
		return nil, fmt.Errorf("%w: %d", errStatus, status)
	case page.Date != date:
		return nil, fmt.Errorf("%w: it is of another day", rail.ErrInvalidReport)
	}
	return page, nil
}

var (
	errUnsigned      = errors.New("the answer is not signed for this request")
	errAnswerTooLong = errors.New("the answer is too long")
)

// callRail makes one call and decodes its answer into said. An error means that there is
// no trustworthy answer; code is the short reason.
func (r *Rail) callRail(ctx context.Context, method, path, key string, body, said any, limit int64) (status int, code string, err error) {
	request, err := r.newRequest(ctx, method, path, key, body)
	if err != nil {
		return 0, codeUnreadable, err
	}
	response, err := r.config.Client.Do(request)
	if err != nil {
		return 0, "answer_lost_" + egress.FailureReason(err), withoutAddress(err)
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(io.LimitReader(response.Body, limit+1))
	switch {
	case err != nil:
		return 0, "answer_lost_" + egress.FailureReason(err), withoutAddress(err)
	case int64(len(text)) > limit:
		return 0, codeUnreadable, errAnswerTooLong
	case !r.config.Secrets.verifyResponse(response, request.Header.Get(headerSignature), text):
		return 0, codeUnsigned, fmt.Errorf("%w (%d)", errUnsigned, response.StatusCode)
	}
	if err := json.Unmarshal(text, said); err != nil {
		return 0, codeUnreadable, errors.New("the answer is not the JSON of the protocol")
	}
	return response.StatusCode, "", nil
}

func (r *Rail) newRequest(ctx context.Context, method, path, key string, body any) (*http.Request, error) {
	var text []byte
	if body != nil {
		var err error
		if text, err = json.Marshal(body); err != nil {
			return nil, errors.New("the order cannot be written")
		}
	}
	request, err := http.NewRequestWithContext(ctx, method, strings.TrimSuffix(r.config.URL.String(), "/")+"/"+path, bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	request.GetBody = nil // otherwise net/http would silently retry a lost connection
	if guard := orderBodyFrom(ctx); guard != nil {
		guard.ReadCloser, request.Body = request.Body, guard
	}
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	request.Header.Set("Accept", "application/json")
	if key != "" {
		request.Header.Set(headerKey, key)
	}
	if place := tracing.Traceparent(ctx); place != "" {
		request.Header.Set(tracing.HeaderName, place)
	}
	r.config.Secrets.SignRequest(request, text, r.config.Now())
	return request, nil
}

// withoutAddress removes the address from an error because its path contains a key and
// its host is our bank.
func withoutAddress(err error) error {
	var wrapped *url.Error
	if errors.As(err, &wrapped) {
		return wrapped.Err
	}
	return err
}
