// Command mutants measures how many faults the tests detect. It makes small changes
// (mutants) to the code under test — a negated condition, a shifted bound, a deleted
// statement, a dropped condition of a query — runs the tests that reach each change, and
// reports the changes that no test detects.
//
// One build holds all mutants of a package: every mutation calls a function that compares
// its number with the active one, so a mutant costs a test run and no compilation. A
// mutation that cannot be switched at run time (a package constant) is built alone. The
// tree is never edited: all changes are made by an overlay.
//
// Results are appended to a state file under a key of file, function, text and mutation,
// so that a run continues where the last one stopped, even after the code has moved.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

// options are the flags of the command.
type options struct {
	packages []string       // folders whose code is mutated
	suites   []string       // folders whose tests are run
	number   int            // mutants to evaluate
	seed     string         // determines the order of the mutants
	only     *regexp.Regexp // pattern of keys
	tests    *regexp.Regexp // tests to trace
	directed string         // list of named mutants; replaces the sample
	dir      string         // state and builds
	again    bool           // evaluate survivors again
	limit    time.Duration  // of one test run
	stopIn   time.Duration  // ends the run early; 0 never
	list     bool           // only print the mutants
	trace    bool           // only record what each test reaches
	traced   bool           // use only tests that are already traced
	alone    bool           // also evaluate mutants that need their own build

	environment []string // of test programs: the shared server
}

func main() {
	o := parseOptions()
	if err := runCommand(o); err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(1)
	}
}

func parseOptions() options {
	o, packages, suites, only, tests := options{}, "", "", "", ""
	cache, err := os.UserCacheDir()
	if err != nil {
		cache = os.TempDir()
	}
	flag.StringVar(&packages, "packages", "model/...,jobs,internal/auth", "folders whose code is mutated; /... stands for all folders below")
	flag.StringVar(&suites, "suites", "model/...,jobs,internal/auth", "folders whose tests are run")
	flag.IntVar(&o.number, "n", 300, "mutants to judge, those of earlier runs included")
	flag.StringVar(&o.seed, "seed", "1", "orders the mutants")
	flag.StringVar(&only, "only", "", "regular expression: mutate only what its key matches (file|function|text|mutation)")
	flag.StringVar(&tests, "tests", "", "regular expression: trace only tests with such a name; a mutant that they let live may be noticed by others")
	flag.StringVar(&o.directed, "directed", "", "file of named mutants to judge instead of a sample")
	flag.StringVar(&o.dir, "state", filepath.Join(cache, "parapet", "mutants"), "folder of the state and of the builds")
	flag.BoolVar(&o.again, "again", false, "judge survivors of earlier runs again")
	flag.DurationVar(&o.limit, "limit", 3*time.Minute, "time of one test run, after which a mutant counts as killed")
	flag.DurationVar(&o.stopIn, "stop-in", 0, "begin no mutant after this time")
	flag.BoolVar(&o.list, "list", false, "print all mutants and stop")
	flag.BoolVar(&o.trace, "trace", false, "record what each test reaches, and stop")
	flag.BoolVar(&o.traced, "traced", false, "judge by the tests that were traced already, and trace no others")
	flag.BoolVar(&o.alone, "alone", true, "judge mutants that need a build of their own, too: constants of a package, a minute each")
	flag.Parse()
	o.packages, o.suites = expandFolders(packages, false), expandFolders(suites, true)
	o.only, o.tests = regexp.MustCompile(only), regexp.MustCompile(tests)
	return o
}

// testSupportPattern matches folders of code that only tests use.
var testSupportPattern = regexp.MustCompile(`(^|/)(modeltest|testdata)(/|$)`)

// expandFolders returns the folders of a list. A folder with /... stands for itself and the
// folders below it that have code or, if tests is set, tests.
func expandFolders(list string, tests bool) (folders []string) {
	for folder := range strings.SplitSeq(list, ",") {
		root, all := strings.CutSuffix(folder, "/...")
		if !all {
			folders = append(folders, folder)
			continue
		}
		_ = filepath.WalkDir(root, func(name string, _ os.DirEntry, err error) error {
			folder := filepath.ToSlash(filepath.Dir(name))
			if err == nil && filepath.Ext(name) == ".go" && strings.HasSuffix(name, "_test.go") == tests &&
				!testSupportPattern.MatchString(folder) && !slices.Contains(folders, folder) {
				folders = append(folders, folder)
			}
			return nil
		})
	}
	return folders
}

func runCommand(o options) error {
	if err := os.MkdirAll(o.dir, 0o750); err != nil {
		return err
	}
	if o.directed != "" {
		return runDirected(o)
	}
	found, err := findMutants(o.packages)
	if err != nil {
		return err
	}
	if o.list {
		for _, m := range found {
			if o.only.MatchString(m.key) {
				fmt.Printf("%s:%d\t%s\n", m.file, m.line, m.what)
			}
		}
		return nil
	}
	b, err := compileSwitched(o, found)
	if err != nil {
		return err
	}
	shared := startServer(b.dir, o.suites)
	defer shared.stopServer()
	o.environment = shared.environment
	reach, err := traceTests(o, b)
	if err != nil || o.trace {
		return err
	}
	return runSample(o, b, reach)
}
