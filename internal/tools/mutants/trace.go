package main

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// testTrace is what one test of a suite reaches.
type testTrace struct {
	Suite, Test string
	MS          int
	Reached     []string // hashes of keys
}

// tracingSource wraps every test of a suite and saves what it reaches under its name.
const tracingSource = `package %s

import (
	"reflect"
	"testing"
	"unsafe"

	"` + modulePath + `/` + switchFolder + `"
)

func traceMutants(m *testing.M) {
	tests := (*[]testing.InternalTest)(unsafe.Pointer(reflect.ValueOf(m).Elem().FieldByName("tests").UnsafeAddr()))
	for i, test := range *tests {
		(*tests)[i].F = func(t *testing.T) {
			t.Cleanup(func() { mutant.Save(test.Name) })
			test.F(t)
		}
	}
}
`

const testMainSource = `
func TestMain(m *testing.M) {
	traceMutants(m)
	m.Run()
}
`

var testMainPattern = regexp.MustCompile(`(?m)^func TestMain\(m \*testing\.M\) \{`)

// addTracing adds the wrapper to the sources of every suite.
func addTracing(files map[string]string, suites []string) error {
	for _, suite := range suites {
		names, err := filepath.Glob(filepath.Join(suite, "*_test.go"))
		if err != nil || len(names) == 0 {
			return errors.Join(err, fmt.Errorf("%s has no tests", suite))
		}
		name, found := "", false
		for _, file := range names {
			source, err := os.ReadFile(file) //nolint:gosec // a file of the tree
			if err != nil {
				return err
			}
			clause := strings.TrimPrefix(packageClause.FindString(string(source)), "package ")
			if at := testMainPattern.FindIndex(source); at != nil {
				files[filepath.ToSlash(file)] = string(source[:at[1]]) + " traceMutants(m); " + string(source[at[1]:])
				name, found = clause, true
			} else if name == "" {
				name = clause
			}
		}
		text := fmt.Sprintf(tracingSource, name)
		if !found {
			text += testMainSource
		}
		files[suite+"/mutant_trace_test.go"] = text
	}
	return nil
}

// traceTests runs every test that has not been traced yet, one at a time, and returns
// what all tests reach.
func traceTests(o options, b *switchedBuild) ([]testTrace, error) {
	path := filepath.Join(o.dir, "reached.jsonl")
	known, err := readTraces(path)
	if err != nil {
		return nil, err
	}
	suites := o.suites
	if o.traced {
		suites = nil
	}
	for _, suite := range suites {
		// The output of a killed run belongs to this tree if the digest is the same.
		raw := filepath.Join(o.dir, "raw-"+strings.ReplaceAll(suite, "/", "_")+"-"+b.digest+".txt")
		if err := saveTraces(path, raw, suite, b, known); err != nil {
			return nil, err
		}
		tests, err := listTests(b.dir, suite)
		if err != nil {
			return nil, err
		}
		var missing []string
		for _, test := range tests {
			if _, ok := known[suite+"."+test]; !ok && o.tests.MatchString(test) {
				missing = append(missing, test)
			}
		}
		if len(missing) == 0 {
			continue
		}
		fmt.Printf("tracing %d tests of %s\n", len(missing), suite)
		var stop func()
		ctx := context.Background()
		if o.stopIn > 0 {
			ctx, stop = context.WithTimeout(ctx, o.stopIn)
			defer stop()
		}
		result := runTests(ctx, programPath(b.dir, suite), suite, missing, append(slices.Clone(o.environment), "PARAPET_MUTANTS_REACHED="+raw), "-test.parallel=1", "-test.timeout=3h")
		if err := saveTraces(path, raw, suite, b, known); err != nil {
			return nil, err
		}
		if ctx.Err() != nil {
			return nil, errors.New("out of time: run again to trace the other tests")
		}
		if !result.passed {
			fmt.Printf("a test of the unmutated tree fails: %s\n", result.failed)
		}
	}
	var all []testTrace
	for _, t := range known {
		all = append(all, t)
	}
	return all, nil
}

func readTraces(path string) (map[string]testTrace, error) {
	known := map[string]testTrace{}
	err := readLines(path, func(line []byte) error {
		var t testTrace
		if err := json.Unmarshal(line, &t); err != nil {
			return err
		}
		known[t.Suite+"."+t.Test] = t
		return nil
	})
	return known, err
}

// saveTraces converts the numbers that a run wrote to keys and adds them to the state.
func saveTraces(path, raw, suite string, b *switchedBuild, known map[string]testTrace) error {
	err := readLines(raw, func(line []byte) error {
		words := strings.Fields(string(line))
		if len(words) < 2 {
			return nil
		}
		t := testTrace{Suite: suite, Test: words[0]}
		t.MS, _ = strconv.Atoi(words[1])
		for _, word := range words[2:] {
			if id, err := strconv.Atoi(word); err == nil && id > 0 && id <= len(b.mutants) {
				t.Reached = append(t.Reached, shortHash(b.mutants[id-1].key))
			}
		}
		known[suite+"."+t.Test] = t
		return appendLine(path, t)
	})
	return errors.Join(err, os.RemoveAll(raw))
}

func listTests(dir, suite string) (tests []string, err error) {
	out, err := exec.Command(programPath(dir, suite), "-test.list=^Test").Output() //nolint:gosec // the program that was built
	for line := range strings.Lines(string(out)) {
		if name := strings.TrimSpace(line); strings.HasPrefix(name, "Test") && name != "TestMain" {
			tests = append(tests, name)
		}
	}
	return tests, err
}

func shortHash(key string) string {
	sum := sha256.Sum256([]byte(key))
	return hex.EncodeToString(sum[:6])
}

func readLines(path string, each func([]byte) error) error {
	file, err := os.Open(path) //nolint:gosec // the state
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer file.Close() //nolint:errcheck // it is only read
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		if err := each(lines.Bytes()); err != nil {
			return err
		}
	}
	return lines.Err()
}

func appendLine(path string, value any) error {
	text, err := json.Marshal(value)
	if err != nil {
		return err
	}
	file, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600) //nolint:gosec // the state
	if err != nil {
		return err
	}
	_, err = file.Write(append(text, '\n'))
	return errors.Join(err, file.Close())
}

// timestamp returns the time of a result, to the second.
func timestamp() string { return time.Now().UTC().Format(time.RFC3339) }
