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

// named is a mutant that a list names: an old text of a file, the text that replaces it,
// and the tests that must notice.
type named struct {
	mutant
	batch batch
}

// activeWord stands in the new text of a named mutant for whether it is active; a new text
// without it is built alone.
const activeWord = "MUTANT"

// readNamed reads a list: blocks of "name:", "file:", "old:", "new:" and "tests:" lines,
// separated by empty lines. A line that begins with a tab continues the one above it.
func readNamed(path string) ([]*named, error) {
	text, err := os.ReadFile(path) //nolint:gosec // named by the caller
	if err != nil {
		return nil, err
	}
	var list []*named
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

func newNamed(fields map[string]string, id int) (*named, error) {
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
	n := &named{batch: batch{suite: suite, tests: strings.Fields(tests)}}
	n.id, n.file, n.what, n.key = id, fields["file"], fields["name"], fields["name"]
	n.line = 1 + bytes.Count(source[:at], []byte("\n"))
	change := edit{from: at, to: at + len(old), text: replacement}
	if strings.Contains(replacement, activeWord) {
		change.text = strings.ReplaceAll(replacement, activeWord, "mutant.At("+marker+")")
		n.switched = []edit{change}
	} else {
		n.plain = []edit{change}
	}
	return n, nil
}

// runDirected judges every mutant of a list and fails when one survives.
func runDirected(o options) error {
	list, err := readNamed(o.directed)
	if err != nil {
		return err
	}
	b := &build{dir: filepath.Join(o.dir, "named"), switched: map[int]bool{}}
	for _, n := range list {
		b.mutants, b.switched[n.id] = append(b.mutants, &n.mutant), len(n.switched) > 0
	}
	o.suites = nil
	for _, n := range list {
		if !slices.Contains(o.suites, n.batch.suite) {
			o.suites = append(o.suites, n.batch.suite)
		}
	}
	files, err := b.files()
	if err != nil {
		return err
	}
	if output, err := compile(b.dir, files, nil, o.suites); err != nil {
		return fmt.Errorf("the named mutants do not compile: %w\n%s", err, output)
	}
	shared := startServer(b.dir, o.suites)
	defer shared.stop()
	o.environment = shared.environment
	alive := 0
	for _, n := range list {
		if !o.only.MatchString(n.key) {
			continue
		}
		dir, id := b.dir, n.id
		if !b.switched[n.id] {
			alone, compiles, err := buildAlone(o, &n.mutant)
			if err != nil {
				return err
			}
			if !compiles {
				return fmt.Errorf("%s does not compile", n.what)
			}
			dir, id = alone, 0
		}
		v, _ := judge(o, dir, b.dir, id, []batch{n.batch})
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
