package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"sort"
	"strings"
	"time"
)

// runSample evaluates mutants in the order of the seed until the requested number is
// reached.
func runSample(o options, b *switchedBuild, reach []testTrace) error {
	state := filepath.Join(o.dir, "verdicts.jsonl")
	known, err := readVerdicts(state)
	if err != nil {
		return err
	}
	began, judged, verdicts := time.Now(), 0, map[*mutant]verdict{}
	for _, m := range selectMutants(b.mutants, o) {
		if judged >= o.number {
			break
		}
		v, done := known[m.key]
		if done && v.Status != inconclusive && (!o.again || v.Status != survived && v.Status != unreached) {
			verdicts[m] = v
			judged += countIfJudged(v)
			continue
		}
		if o.stopIn > 0 && time.Since(began) > o.stopIn {
			continue // known results count too
		}
		if !o.alone && !b.switched[m.id] {
			continue
		}
		if v, err = o.runSampleMutant(b, m, reach); err != nil {
			return err
		}
		if err := appendLine(state, v); err != nil {
			return err
		}
		verdicts[m] = v
		judged += countIfJudged(v)
		fmt.Printf("%-9s %s:%d %s: %s (%s, %d tests, %.0f s)\n", v.Status, m.file, m.line, m.function, m.what, v.By, v.Tests, v.Seconds)
	}
	printReport(verdicts)
	return nil
}

// runSampleMutant evaluates a mutant with the tests that reach it.
func (o options) runSampleMutant(b *switchedBuild, m *mutant, reach []testTrace) (verdict, error) {
	batches, err := o.testBatches(b, m, reach)
	if err != nil {
		return verdict{}, err
	}
	dir, id := b.dir, m.id
	if !b.switched[m.id] && len(batches) > 0 {
		o.suites = []string{batches[0].suite} // one build is enough
		batches = slices.DeleteFunc(batches, func(other testBatch) bool { return other.suite != o.suites[0] })
		alone, compiles, err := compileAlone(o, m)
		if err != nil {
			return verdict{}, err
		}
		if !compiles {
			return verdict{Key: m.key, At: timestamp(), Status: invalid}, nil
		}
		dir, id = alone, 0
	}
	v, output := runMutant(o, dir, b.dir, id, batches)
	v.Key = m.key
	return v, os.WriteFile(filepath.Join(o.dir, "last.log"), []byte(output), 0o600)
}

// selectMutants returns the selected mutants in an order that depends on the seed only
// and stays the same when the code around them moves.
func selectMutants(all []*mutant, o options) []*mutant {
	var chosen []*mutant
	for _, m := range all {
		if o.only.MatchString(m.key) {
			chosen = append(chosen, m)
		}
	}
	sort.Slice(chosen, func(i, j int) bool { return shortHash(o.seed+chosen[i].key) < shortHash(o.seed+chosen[j].key) })
	return chosen
}

// testCost orders tests: fast tests that reach little else come first.
func (t testTrace) testCost() int { return t.MS + 2*len(t.Reached) }

// firstWord returns the first word of a file name, which a file and its tests share.
func firstWord(file string) string {
	word, _, _ := strings.Cut(strings.TrimSuffix(path.Base(file), ".go"), "_")
	return word
}

// subjectTests returns the tests of a suite in files whose names begin like a file's.
func subjectTests(suite, file string) (tests map[string]bool, err error) {
	tests = map[string]bool{}
	names, err := filepath.Glob(filepath.Join(suite, "*_test.go"))
	for _, name := range names {
		if firstWord(name) != firstWord(file) {
			continue
		}
		source, err := os.ReadFile(name) //nolint:gosec // a file of the tree
		if err != nil {
			return nil, err
		}
		for _, match := range testPattern.FindAllSubmatch(source, -1) {
			tests[string(match[1])] = true
		}
	}
	return tests, err
}

var testPattern = regexp.MustCompile(`(?m)^func (Test\w+)\(`)

// The batch sizes of the mutant's own suite and of the others: a few tests detect most
// changes; a mutant that no test of all batches detects survives.
var batchSizes, otherBatchSizes = []int{8, 30, 90}, []int{8, 30}

// testBatches returns the tests that reach a mutant, those of its own package first.
func (o options) testBatches(b *switchedBuild, m *mutant, reach []testTrace) (batches []testBatch, err error) {
	wanted := b.relatedKeys(m)
	suites := slices.Clone(o.suites)
	sort.SliceStable(suites, func(i, j int) bool { return suites[i] == path.Dir(m.file) && suites[j] != path.Dir(m.file) })
	for _, suite := range suites {
		covering, err := coveringTests(suite, m, reach, wanted)
		if err != nil {
			return nil, err
		}
		sizes := otherBatchSizes
		if suite == path.Dir(m.file) {
			sizes = batchSizes
		}
		for _, size := range sizes {
			size = min(size, len(covering))
			if size == 0 {
				break
			}
			next := testBatch{suite: suite}
			for _, t := range covering[:size] {
				next.tests = append(next.tests, t.Test)
				next.took += time.Duration(t.MS) * time.Millisecond
			}
			batches, covering = append(batches, next), covering[size:]
		}
	}
	return batches, nil
}

// coveringTests returns the tests of a suite that reach one of the wanted keys, in the
// order in which they are run. Tests of the mutant's subject may take ten times as long.
func coveringTests(suite string, m *mutant, reach []testTrace, wanted map[string]bool) (covering []testTrace, err error) {
	subject, err := subjectTests(suite, m.file)
	if err != nil {
		return nil, err
	}
	cost := func(t testTrace) int {
		if subject[t.Test] {
			return t.testCost() / 10
		}
		return t.testCost()
	}
	for _, t := range reach {
		if t.Suite == suite && slices.ContainsFunc(t.Reached, func(key string) bool { return wanted[key] }) {
			covering = append(covering, t)
		}
	}
	slices.SortFunc(covering, func(x, y testTrace) int {
		return cmp.Or(cmp.Compare(cost(x), cost(y)), cmp.Compare(x.Test, y.Test))
	})
	return covering, nil
}

// relatedKeys returns the switched mutants whose tests evaluate a mutant: itself, or, if
// it is built alone, those of its function or of the functions of its package that use
// its constant.
func (b *switchedBuild) relatedKeys(m *mutant) map[string]bool {
	if b.switched[m.id] {
		return map[string]bool{shortHash(m.key): true}
	}
	keys := map[string]bool{}
	for _, other := range b.mutants {
		if path.Dir(other.file) != path.Dir(m.file) {
			continue
		}
		same := other.file == m.file && other.function == m.function && m.function != "-"
		for _, name := range m.names {
			same = same || m.function == "-" && mentionsName(other.key, name)
		}
		if same {
			keys[shortHash(other.key)] = true
		}
	}
	return keys
}

// mentionsName reports whether a line of code in a key contains a name.
func mentionsName(key, name string) bool {
	for _, word := range strings.FieldsFunc(key, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '_'
	}) {
		if word == name {
			return true
		}
	}
	return false
}

func countIfJudged(v verdict) int {
	if v.Status == invalid || v.Status == inconclusive {
		return 0
	}
	return 1
}

func parseVerdict(line []byte) (v verdict, err error) {
	err = json.Unmarshal(line, &v)
	return v, err
}

// printReport prints the survivors and the totals.
func printReport(verdicts map[*mutant]verdict) {
	number, files := map[string]int{}, map[string][2]int{}
	var alive []*mutant
	for m, v := range verdicts {
		number[v.Status]++
		if countIfJudged(v) == 1 {
			figures := files[path.Dir(m.file)]
			figures[1]++
			if v.Status == killed {
				figures[0]++
			} else {
				alive = append(alive, m)
			}
			files[path.Dir(m.file)] = figures
		}
	}
	sort.Slice(alive, func(i, j int) bool { return alive[i].id < alive[j].id })
	for _, m := range alive {
		fmt.Printf("%-9s %s:%d %s: %s\n", verdicts[m].Status, m.file, m.line, m.function, m.what)
	}
	for _, folder := range slices.Sorted(func(yield func(string) bool) {
		for name := range files {
			if !yield(name) {
				return
			}
		}
	}) {
		fmt.Printf("%s: %d of %d killed\n", folder, files[folder][0], files[folder][1])
	}
	judged := number[killed] + number[survived] + number[unreached]
	fmt.Printf("mutants: %d judged, %d killed (%.1f %%), %d survived, %d reached by no test; %d invalid, %d unclear\n",
		judged, number[killed], 100*float64(number[killed])/float64(max(1, judged)), number[survived], number[unreached], number[invalid], number[inconclusive])
}
