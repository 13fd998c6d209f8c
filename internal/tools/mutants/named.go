package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// namedMutant is a mutant from a list: an old text of a file, its replacement, and the
// tests that must detect it.
type namedMutant struct {
	mutant
	batch testBatch
}

// activePlaceholder in the new text of a named mutant is replaced by an expression that
// is true when it is active; a new text without it is built alone.
const activePlaceholder = "MUTANT"

// readNamed reads a list: blocks of "name:", "file:", "old:", "new:" and "tests:" lines,
// separated by empty lines. A line that begins with a tab continues the previous one.
func readNamed(path string) ([]*namedMutant, error) {
	text, err := os.ReadFile(path) //nolint:gosec // named by the caller
	if err != nil {
		return nil, err
	}
	var list []*namedMutant
	for _, block := range regexp.MustCompile(`\n\s*\n`).Split(string(text), -1) {
		fields := map[string]string{}
		last := ""
		for line := range strings.Lines(block) {
			line = strings.TrimRight(line, "\n")
			name, value, found := strings.Cut(line, ": ")
			switch {
			case strings.HasPrefix(line, "#"):
			case strings.HasPrefix(line, "\t") && last != "":
				fields[last] += "\n" + line
			case found:
				fields[name], last = value, name
			}
		}
		if len(fields) == 0 {
			continue
		}
		n, err := newNamed(fields, len(list)+1)
		if err != nil {
			return nil, err
		}
		list = append(list, n)
	}
	return list, nil
}

func newNamed(fields map[string]string, id int) (*namedMutant, error) {
	source, err := os.ReadFile(fields["file"])
	if err != nil {
		return nil, err
	}
	old, replacement := fields["old"], fields["new"]
	at := bytes.Index(source, []byte(old))
	if old == "" || at < 0 || bytes.Count(source, []byte(old)) != 1 {
		return nil, fmt.Errorf("%s: the old text is not in %s exactly once: change the list: %q", fields["name"], fields["file"], old)
	}
	suite, tests, _ := strings.Cut(fields["tests"], " ")
	n := &namedMutant{batch: testBatch{suite: suite, tests: strings.Fields(tests)}}
	n.id, n.file, n.what, n.key = id, fields["file"], fields["name"], fields["name"]
	n.line = 1 + bytes.Count(source[:at], []byte("\n"))
	change := sourceEdit{from: at, to: at + len(old), text: replacement}
	if strings.Contains(replacement, activePlaceholder) {
		change.text = strings.ReplaceAll(replacement, activePlaceholder, "mutant.At("+idMarker+")")
		n.switched = []sourceEdit{change}
	} else {
		n.plain = []sourceEdit{change}
	}
	return n, nil
}

// runDirected evaluates every mutant of a list and fails when one survives.
func runDirected(o options) error {
	list, err := readNamed(o.directed)
	if err != nil {
		return err
	}
	b := &switchedBuild{dir: filepath.Join(o.dir, "named"), switched: map[int]bool{}}
	for _, n := range list {
		b.mutants, b.switched[n.id] = append(b.mutants, &n.mutant), len(n.switched) > 0
	}
	o.suites = nil
	for _, n := range list {
		if !slices.Contains(o.suites, n.batch.suite) {
			o.suites = append(o.suites, n.batch.suite)
		}
	}
	files, err := b.mutatedSources()
	if err != nil {
		return err
	}
	if output, err := compilePrograms(b.dir, files, nil, o.suites); err != nil {
		return fmt.Errorf("the named mutants do not compile: %w\n%s", err, output)
	}
	shared := startServer(b.dir, o.suites)
	defer shared.stopServer()
	o.environment = shared.environment
	alive := 0
	for _, n := range list {
		if !o.only.MatchString(n.key) {
			continue
		}
		dir, id := b.dir, n.id
		if !b.switched[n.id] {
			alone, compiles, err := compileAlone(o, &n.mutant)
			if err != nil {
				return err
			}
			if !compiles {
				return fmt.Errorf("%s does not compile", n.what)
			}
			dir, id = alone, 0
		}
		v, _ := runMutant(o, dir, b.dir, id, []testBatch{n.batch})
		fmt.Printf("%-9s %s (%s:%d, %s, %.0f s)\n", v.Status, n.what, n.file, n.line, v.By, v.Seconds)
		if v.Status != killed {
			alive++
		}
	}
	if alive > 0 {
		return fmt.Errorf("%d of %d %w", alive, len(list), errSurvivors)
	}
	return nil
}
