// Package webhook sends events to partners' endpoints by Standard Webhooks 1.0
// (https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md).
package webhook

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"parapet/internal/egress"
	"parapet/model/wire"
)

// The limits of one attempt, of the answer that is read and of the part that is kept, in
// bytes.
const (
	Timeout       = 15 * time.Second
	maxAnswerRead = 64 << 10
	maxAnswerKept = 1 << 10
)

// Sign returns the value of the header webhook-signature: a v1 signature for every
// secret, the base64 HMAC-SHA256 of id, timestamp and body joined by full stops.
func Sign(secrets [][]byte, id string, at time.Time, body []byte) string {
	signatures := make([]string, len(secrets))
	for i, secret := range secrets {
		mac := hmac.New(sha256.New, secret)
		_, _ = io.WriteString(mac, id+"."+strconv.FormatInt(at.Unix(), 10)+".")
		_, _ = mac.Write(body)
		signatures[i] = "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
	}
	return strings.Join(signatures, " ")
}

// Message is one event to send.
type Message struct {
	URL     string
	Secrets [][]byte // the new one first
	ID      string   // of the event, the same in every attempt
	Body    []byte
}

// Result is the result of an attempt.
type Result struct {
	Attempt    wire.Attempt
	Delivered  bool          // answered with 2xx in time
	Gone       bool          // answered with 410
	RetryAfter time.Duration // requested by the receiver; otherwise 0
}

// Sender sends messages.
type Sender struct {
	Client *http.Client // must guard addresses, follow no redirects and time out after Timeout
	Now    func() time.Time
}

// Send makes one attempt. Every failure is a Result.
func (s *Sender) Send(ctx context.Context, m Message) Result {
	at := s.Now()
	result := s.sendOnce(ctx, m, at)
	result.Attempt.At = at
	result.Attempt.DurationMS = s.Now().Sub(at).Milliseconds()
	return result
}

func (s *Sender) sendOnce(ctx context.Context, m Message, at time.Time) (result Result) {
	failed := func(why string) Result {
		result.Attempt.Error = &why
		result.Delivered = false
		return result
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, m.URL, bytes.NewReader(m.Body))
	if err != nil {
		return failed("address")
	}
	request.Header = http.Header{
		"Content-Type": {"application/json"}, "User-Agent": {"Parapet-Webhooks/1"},
		"Webhook-Id": {m.ID}, "Webhook-Timestamp": {strconv.FormatInt(at.Unix(), 10)}, "Webhook-Signature": {Sign(m.Secrets, m.ID, at, m.Body)},
	}
	answer, err := s.Client.Do(request)
	if err != nil {
		return failed(egress.FailureReason(err))
	}
	defer func() { _ = answer.Body.Close() }()
	result.Attempt.StatusCode = &answer.StatusCode
	result.Delivered = answer.StatusCode/100 == 2
	result.Gone = answer.StatusCode == http.StatusGone
	result.RetryAfter = retryAfter(answer.Header.Get("Retry-After"), at)
	body, err := io.ReadAll(io.LimitReader(answer.Body, maxAnswerRead))
	result.Attempt.Answer = keptText(body)
	switch {
	case err != nil && !result.Delivered: // 2xx is success even if reading its body fails
		return failed(egress.FailureReason(err))
	case answer.StatusCode/100 == 3:
		return failed("redirect")
	default:
		return result
	}
}

// retryAfter reads seconds or a date (RFC 9110 section 10.2.3).
func retryAfter(value string, now time.Time) time.Duration {
	if seconds, err := strconv.Atoi(value); err == nil {
		return time.Duration(max(0, min(seconds, 1<<30))) * time.Second
	}
	if at, err := http.ParseTime(value); err == nil {
		return max(0, at.Sub(now))
	}
	return 0
}

// keptText returns the beginning of an answer as storable text: valid UTF-8 without NUL.
func keptText(body []byte) string {
	if len(body) > maxAnswerKept {
		body = body[:maxAnswerKept]
		for range utf8.UTFMax - 1 { // drop a partial character
			if last, _ := utf8.DecodeLastRune(body); last != utf8.RuneError {
				break
			}
			body = body[:len(body)-1]
		}
	}
	return strings.ReplaceAll(strings.ToValidUTF8(string(body), "\uFFFD"), "\x00", "\uFFFD")
}
