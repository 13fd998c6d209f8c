package main

import (
	"strings"
	"testing"
	"time"
)

const output = `goos: linux
goarch: amd64
pkg: parapet/cmd/parapet
BenchmarkREST/Write/Quote-2   	    1000	         0.80 ratio	       500 req/s	       625 bare-req/s	        11.5 p99-ms	         4.25 p50-ms	       900.0 CPU-µs/req	       300.0 Postgres-CPU-µs/req	     12345 WAL-bytes/req	      1500 allocs/req
BenchmarkRelay-2              	       1	 123456 ns/op	      9000 events/s	     77 allocs/op
BenchmarkUnlisted-2           	       1	 123456 ns/op
--- FAIL: BenchmarkStorm
PASS
`

func TestTableShowsRatiosCostsAndMisses(t *testing.T) {
	t.Parallel()
	benchmarks, err := parseResults(strings.NewReader(output))
	if err != nil {
		t.Fatal(err)
	}
	var table strings.Builder
	if err := printTable(&table, benchmarks); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(table.String()), "\n")
	if len(lines) != 3 {
		t.Fatalf("a head and two rows, not:\n%s", table.String())
	}
	for i, want := range []string{"POST /quotes 500 625 0.8 ≥ 0.75 4.25/11.5 900+300 12345 1500", "relay 9000 ≥ 10000 MISSED"} {
		if got := strings.Join(strings.Fields(lines[i+1]), " "); got != want {
			t.Errorf("row %d: %q, want %q", i+1, got, want)
		}
	}
}

// TestTableShowsTheMedianOfRounds has three rounds, of which the last is the middle one.
func TestTableShowsTheMedianOfRounds(t *testing.T) {
	t.Parallel()
	benchmarks, err := parseResults(strings.NewReader(`BenchmarkStorm/Pay/Quotes-2         1  3.0 of-quiet  30 p99-ms  10 quiet-p99-ms
BenchmarkStorm/Pay/Quotes#01-2      1  1.0 of-quiet  40 p99-ms  40 quiet-p99-ms
BenchmarkStorm/Pay/Quotes#02-2      1  1.5 of-quiet  60 p99-ms  40 quiet-p99-ms
`))
	if err != nil {
		t.Fatal(err)
	}
	var table strings.Builder
	if err := printTable(&table, benchmarks); err != nil {
		t.Fatal(err)
	}
	if got, want := strings.Join(strings.Fields(table.String()), " "), "POST /quotes during a storm, p99 ms 60 40 1.5 ≤ 2 /60"; !strings.HasSuffix(got, want) {
		t.Errorf("%q, want %q at its end", got, want)
	}
}

func TestOtherProcessesAreWhatIsBusyWithoutChildren(t *testing.T) {
	t.Parallel()
	at := time.Unix(0, 0)
	got := describeMachine(machine{at: at, load: "0", busy: time.Second}, machine{at: at.Add(10 * time.Second), load: "1", busy: 16 * time.Second, children: 5 * time.Second})
	if want := "load averages 0 before and 1 after; other processes used 1.0 cores"; !strings.HasSuffix(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
