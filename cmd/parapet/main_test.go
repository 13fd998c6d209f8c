package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"strconv"
	"testing"
	"time"

	"parapet/model/modeltest"
)

// processRoleVariable makes the test binary run as another program; see startProcess. It
// is not a setting, so the process removes it before it reads its settings.
const processRoleVariable = "TEST_PROCESS_AS"

func TestMain(m *testing.M) {
	as := os.Getenv(processRoleVariable)
	if as == "" {
		raiseParallelTests()
		os.Exit(modeltest.Main(m))
	}
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin) // ends with the test that started this process
		os.Exit(1)
	}()
	run := runServeForTests
	switch as {
	case "parapet":
		main()
		return
	case "bank":
		run = runBank
	}
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// raiseParallelTests lets four tests run at the same time, unless -parallel says otherwise.
// Most of the time they wait for processes: for a lease to end or a sweep to come.
func raiseParallelTests() {
	flag.Parse()
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "test.parallel" })
	if given {
		return
	}
	if err := flag.Set("test.parallel", strconv.Itoa(max(4, runtime.GOMAXPROCS(0)))); err != nil {
		panic(err) // programming error: the flag exists
	}
}

// runServeForTests runs serve with the development switches, which serve refuses.
func runServeForTests() error {
	time.Local = time.UTC // as in main
	tuneGC()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	s, err := loadSettings()
	if err != nil {
		return err
	}
	return s.serveUntilDone(ctx)
}
