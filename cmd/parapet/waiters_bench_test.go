//go:build linux

package main

import (
	"bufio"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

var waiterCount = flag.Int("waiters", 10_000, "how many callers BenchmarkWaiters lets wait")

// BenchmarkWaiters lets many callers of one partner wait for one event, over connections
// of their own to a server of its own with four database connections.
//
// Reported: the server's resident memory before and with them and what each adds, its
// goroutines, and the seconds until the last has the event.
func BenchmarkWaiters(b *testing.B) {
	var files syscall.Rlimit
	require.NoError(b, syscall.Getrlimit(syscall.RLIMIT_NOFILE, &files))
	if need := uint64(*waiterCount) + 500; files.Cur < need { // Go has raised the soft limit to the hard one
		b.Skipf("a process may open %d files here; %d waiters need %d", files.Cur, *waiterCount, need)
	}
	for name, share := range map[string][2]int{"Subscriptions": {0, *waiterCount}, "Polls": {*waiterCount, 0}} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				measureWaiters(b, share[0], share[1])
			}
		})
	}
}

func measureWaiters(b *testing.B, polls, subscriptions int) {
	b.Helper()
	metrics := freeAddress(b)
	c := newProcessGroup(b, "PARAPET_CONNECTIONS=4", "PARAPET_METRICS_LISTEN="+metrics, "PARAPET_UNAUTHENTICATED_RATE_LIMIT=0")
	server := c.startProcess(b, "parapet")
	require.Equal(b, http.StatusCreated, c.postJSON(b.Context(), server, "/quotes", "first", quoteBody).status)
	require.Equal(b, http.StatusOK, pollFeed(b.Context(), server.base, c.token, "wait=30").status)
	before := server.residentMiB(b)
	done := openWaiters(b.Context(), b, server.base, c.token, polls, subscriptions)
	for deadline := time.Now().Add(time.Minute); ; {
		if readMetric(b, metrics, "parapet_waiters") == float64(polls+subscriptions) {
			break
		}
		require.Less(b, time.Now(), deadline, "not all wait")
		<-time.After(50 * time.Millisecond)
	}
	with, goroutines := server.residentMiB(b), readMetric(b, metrics, "go_goroutines")
	began := time.Now()
	require.Equal(b, http.StatusCreated, c.postJSON(b.Context(), server, "/quotes", "second", quoteBody).status)
	done()
	b.ReportMetric(time.Since(began).Seconds(), "s/all-have-it")
	b.ReportMetric(before, "MiB-before")
	b.ReportMetric(with, "MiB-waiting")
	b.ReportMetric(server.residentMiB(b), "MiB-after")
	b.ReportMetric((with-before)*1024/float64(polls+subscriptions), "KiB/waiter")
	b.ReportMetric(goroutines, "goroutines")
}

// freeAddress returns an address on which nothing listens.
func freeAddress(t testing.TB) string {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { require.NoError(t, listener.Close()) }()
	return listener.Addr().String()
}

// readMetric returns a metric without labels.
func readMetric(t testing.TB, address, name string) (value float64) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+address+"/metrics", nil)
	require.NoError(t, err)
	answer, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	defer func() { require.NoError(t, answer.Body.Close()) }()
	for lines := bufio.NewScanner(answer.Body); lines.Scan(); {
		if _, err := fmt.Sscanf(lines.Text(), name+" %g", &value); err == nil {
			return value
		}
	}
	t.Fatalf("there is no metric %s", name)
	return 0
}

// residentMiB returns the resident memory of the process.
func (p *serverProcess) residentMiB(t testing.TB) float64 {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.command.Process.Pid))
	require.NoError(t, err)
	_, line, found := strings.Cut(string(text), "VmRSS:")
	require.True(t, found)
	var kib float64
	_, err = fmt.Sscan(line, &kib)
	require.NoError(t, err)
	return kib / 1024
}
