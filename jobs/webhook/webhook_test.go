package webhook

import (
	"encoding/base64"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"parapet/internal/egress"
)

// The reference vector of Standard Webhooks' own libraries.
func TestSign(t *testing.T) {
	t.Parallel()
	secret, err := base64.StdEncoding.DecodeString("MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
	require.NoError(t, err)
	at, body := time.Unix(1614265330, 0), []byte(`{"test": 2432232314}`)
	const want = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
	require.Equal(t, want, Sign([][]byte{secret}, "msg_p5jXN8AQM9LWM0D4loKWxJek", at, body))
	both := strings.Split(Sign([][]byte{[]byte("new"), secret}, "msg_p5jXN8AQM9LWM0D4loKWxJek", at, body), " ")
	require.Len(t, both, 2)
	require.Equal(t, want, both[1])
}

func TestRetryAfter(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC)
	for value, want := range map[string]time.Duration{
		"": 0, "0": 0, "-5": 0, "120": 2 * time.Minute, "soon": 0, "1.5": 0, "99999999999999": 1 << 30 * time.Second,
		now.Add(time.Hour).Format(http.TimeFormat): time.Hour, now.Add(-time.Hour).Format(http.TimeFormat): 0,
	} {
		require.Equal(t, want, retryAfter(value, now), value)
	}
}

func TestAnAnswerIsKeptAsText(t *testing.T) {
	t.Parallel()
	require.Equal(t, "a\uFFFDb\uFFFD", keptText([]byte("a\x00b\xff")))
	require.Equal(t, strings.Repeat("a", 1023), keptText([]byte(strings.Repeat("a", 1023)+"é")), "no half of a letter")
}

// late is a network that answers 200 after a delay.
type late time.Duration

func (l late) RoundTrip(r *http.Request) (*http.Response, error) {
	select {
	case <-time.After(time.Duration(l)):
		return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody, Request: r}, nil
	case <-r.Context().Done():
		return nil, r.Context().Err()
	}
}

func TestAnAnswerHasFifteenSeconds(t *testing.T) {
	t.Parallel()
	for after, delivered := range map[time.Duration]bool{0: true, 15*time.Second - time.Millisecond: true, 15*time.Second + time.Millisecond: false, time.Hour: false} {
		synctest.Test(t, func(t *testing.T) {
			sender := &Sender{Client: egress.New(egress.Config{}).Client(Timeout), Now: time.Now}
			sender.Client.Transport = late(after)
			began := time.Now()
			result := sender.Send(t.Context(), Message{URL: "https://hooks.example.com", ID: "evt_1"})
			require.Equal(t, delivered, result.Delivered, after)
			require.LessOrEqual(t, time.Since(began), 15*time.Second)
			if !delivered {
				require.Equal(t, "timeout", *result.Attempt.Error)
				require.EqualValues(t, 15_000, result.Attempt.DurationMS)
			}
		})
	}
}
