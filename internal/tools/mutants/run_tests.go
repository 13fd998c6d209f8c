package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"time"
)

// testResult is the result of a test run.
type testResult struct {
	passed bool
	late   bool   // it timed out
	failed string // the first test that failed or hung
	output string
}

var (
	failedTestPattern = regexp.MustCompile(`(?m)^--- FAIL: (\w+)`)
	hungTestPattern   = regexp.MustCompile(`(?m)^panic: test timed out.*\n\s*running tests:\n\s*(\w+)`)
	// A busy machine can cause the same failures as a mutant.
	timingFailurePattern = regexp.MustCompile(`(?i)never satisfied|deadline exceeded|timed? ?out|too many clients|connection re(fused|set)`)
	// The mutated SQL is invalid or has no type, so no test is needed to detect it.
	invalidSQLPattern = regexp.MustCompile(`SQLSTATE (42601|42P18|42804|42883|42703)`)
)

// runTests runs tests of a suite with their own folder for temporary files, which is
// removed afterwards with the databases in it, however the run ends.
func runTests(ctx context.Context, program, suite string, tests, env []string, flags ...string) testResult {
	temporary, err := os.MkdirTemp("", "mutants")
	if err != nil {
		return testResult{output: err.Error()}
	}
	defer os.RemoveAll(temporary)                      //nolint:errcheck // temporary
	if err := os.Chmod(temporary, 0o755); err != nil { //nolint:gosec // the server of the tests runs as another user
		return testResult{output: err.Error()}
	}
	flags = append(flags, "-test.count=1", "-test.run=^("+strings.Join(tests, "|")+")$")
	cmd := exec.CommandContext(ctx, program, flags...) //nolint:gosec // the program that was built
	var output bytes.Buffer
	cmd.Dir, cmd.Stdout, cmd.Stderr = suite, &output, &output
	cmd.Env = append(os.Environ(), append(env, "TMPDIR="+temporary)...)
	cmd.WaitDelay = 10 * time.Second
	err = cmd.Run()
	r := testResult{passed: err == nil, late: ctx.Err() != nil, output: output.String()}
	if match := failedTestPattern.FindStringSubmatch(r.output); match != nil {
		r.failed = match[1]
	} else if match := hungTestPattern.FindStringSubmatch(r.output); match != nil {
		r.failed, r.late = match[1], true
	}
	return r
}

// verdict is the result of a mutant.
type verdict struct {
	Key, At, Status string
	By              string `json:",omitempty"` // the test that detected it
	Tests           int    // number of tests run
	Seconds         float64
}

// The results of a mutant. An unclear one is evaluated again by the next run.
const (
	killed       = "killed"
	survived     = "survived"
	unreached    = "unreached" // survived because no test reaches it
	invalid      = "invalid"   // it does not compile
	inconclusive = "unclear"
)

// testBatch is some tests of a suite.
type testBatch struct {
	suite string
	tests []string
	took  time.Duration // without a mutant; 0 if unknown
}

// timeLimit returns the time after which the tests are taken to hang.
func (b testBatch) timeLimit(o options) time.Duration {
	if b.took == 0 {
		return o.limit
	}
	return min(o.limit, 20*time.Second+2*b.took)
}

// runMutant runs the batches until a test detects the mutant. The failure counts only if
// it repeats. If a busy machine can cause it too, the test must also pass without a mutant.
func runMutant(o options, dir, unmutated string, id int, batches []testBatch) (v verdict, output string) {
	began := time.Now()
	defer func() { v.Seconds, v.At = time.Since(began).Round(100*time.Millisecond).Seconds(), timestamp() }()
	env := []string{fmt.Sprintf("PARAPET_MUTANT=%d", id)}
	for _, b := range batches {
		v.Tests += len(b.tests)
		r := o.runLimited(programPath(dir, b.suite), b, env, "-test.failfast")
		if r.passed {
			continue
		}
		v.Status, v.By = killed, b.suite+"."+r.failed
		again := b
		if r.failed != "" {
			again = testBatch{suite: b.suite, tests: []string{r.failed}, took: b.took / time.Duration(len(b.tests))}
		}
		switch {
		case invalidSQLPattern.MatchString(r.output):
			v.Status = invalid
		case o.runLimited(programPath(dir, b.suite), again, env).passed:
			v.Status = inconclusive
		case r.late || timingFailurePattern.MatchString(r.output):
			if !o.runLimited(programPath(unmutated, b.suite), again, []string{"PARAPET_MUTANT=0"}).passed {
				v.Status = inconclusive
			}
		}
		return v, r.output
	}
	v.Status = survived
	if len(batches) == 0 {
		v.Status = unreached
	}
	return v, ""
}

func (o options) runLimited(program string, b testBatch, env []string, flags ...string) testResult {
	limit := b.timeLimit(o)
	ctx, cancel := context.WithTimeout(context.Background(), limit+10*time.Second)
	defer cancel()
	flags = append(flags, "-test.timeout="+limit.String()) // names the tests that hang
	return runTests(ctx, program, b.suite, b.tests, append(slices.Clone(o.environment), env...), flags...)
}

func readVerdicts(path string) (map[string]verdict, error) {
	known := map[string]verdict{}
	err := readLines(path, func(line []byte) error {
		v, err := parseVerdict(line)
		if err == nil {
			known[v.Key] = v
		}
		return err
	})
	return known, err
}

// errSurvivors makes the command fail when named mutants survive.
var errSurvivors = errors.New("mutants survived")
