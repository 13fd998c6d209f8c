package main

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"sort"
	"strconv"
	"strings"
)

// switchSource is the package that mutated code calls to read the active mutant. The
// overlay adds it to the module.
//
//go:embed switch.go.txt
var switchSource string

const (
	switchFolder = "internal/mutant"
	modulePath   = "parapet"
)

// switchedBuild is a set of test programs with switched mutants.
type switchedBuild struct {
	dir      string
	mutants  []*mutant
	switched map[int]bool // numbers of the mutants in the programs
	digest   string       // of the tree and the options
}

// compileSwitched compiles the tests of all suites with all mutants that compile as
// switches. The compiler names the lines of the others, which are built alone.
func compileSwitched(o options, all []*mutant) (*switchedBuild, error) {
	b := &switchedBuild{dir: filepath.Join(o.dir, "switched"), mutants: all, switched: map[int]bool{}}
	digest, err := treeDigest(o, all)
	if err != nil {
		return nil, err
	}
	b.digest = digest
	if b.isBuilt() {
		return b, nil
	}
	for _, m := range all {
		b.switched[m.id] = len(m.switched) > 0
	}
	for range 12 {
		files, err := b.mutatedSources()
		if err != nil {
			return nil, err
		}
		if err := addTracing(files, o.suites); err != nil {
			return nil, err
		}
		output, err := compilePrograms(b.dir, files, o.packages, o.suites)
		if err == nil {
			return b, b.saveStamp()
		}
		if dropped := b.dropBroken(output); dropped == 0 {
			return nil, fmt.Errorf("the mutated tree does not compile: %w\n%s", err, output)
		}
	}
	return nil, fmt.Errorf("the mutated tree does not compile")
}

// mutatedSources returns the mutated sources by path.
func (b *switchedBuild) mutatedSources() (map[string]string, error) {
	edits := map[string][]sourceEdit{}
	for _, m := range b.mutants {
		if b.switched[m.id] {
			for _, e := range m.switched {
				e.text = strings.ReplaceAll(e.text, idMarker, strconv.Itoa(m.id))
				edits[m.file] = append(edits[m.file], e)
			}
		}
	}
	files := map[string]string{switchFolder + "/switch.go": switchSource}
	for file, list := range edits {
		source, err := os.ReadFile(file) //nolint:gosec // a file of the tree
		if err != nil {
			return nil, err
		}
		files[file] = importSwitch(applyEdits(source, list))
	}
	return files, nil
}

// applyEdits edits a source. At one position, text that closes an edit is written before
// text that opens one; of the opening texts the outer comes first, of the closing ones
// the inner.
func applyEdits(source []byte, edits []sourceEdit) string {
	sort.SliceStable(edits, func(i, j int) bool {
		a, b := edits[i], edits[j]
		switch {
		case a.from != b.from:
			return a.from < b.from
		case a.close != b.close:
			return a.close
		case a.close:
			return a.order > b.order
		default:
			return a.order < b.order
		}
	})
	var out bytes.Buffer
	at := 0
	for _, e := range edits {
		out.Write(source[at:e.from])
		out.WriteString(e.text)
		at = e.to
	}
	out.Write(source[at:])
	return out.String()
}

var packageClause = regexp.MustCompile(`(?m)^package \w+`)

// importSwitch imports the switch on the line of the package clause, so that all other
// lines keep their numbers.
func importSwitch(source string) string {
	at := packageClause.FindStringIndex(source)
	return source[:at[1]] + `; import "` + modulePath + "/" + switchFolder + `"` + source[at[1]:]
}

var compileError = regexp.MustCompile(`(?m)^(\S+\.go):(\d+)(?::\d+)?: `)

// dropBroken removes the mutants of every line that the compiler names from the build.
func (b *switchedBuild) dropBroken(output string) (dropped int) {
	lines := map[string]bool{}
	for _, match := range compileError.FindAllStringSubmatch(output, -1) {
		file := strings.TrimPrefix(match[1], "./")
		if _, inOverlay, found := strings.Cut(file, "/"+filepath.Base(b.dir)+"/src/"); found {
			file = inOverlay
		}
		lines[file+":"+match[2]] = true
	}
	for _, m := range b.mutants {
		if b.switched[m.id] && lines[fmt.Sprintf("%s:%d", m.file, m.line)] {
			b.switched[m.id] = false
			dropped++
		}
	}
	return dropped
}

// compilePrograms builds the packages to find errors, and then the test programs of the
// suites.
func compilePrograms(dir string, files map[string]string, packages, suites []string) (output string, err error) {
	overlay := filepath.Join(dir, "overlay.json")
	if err := writeOverlay(dir, overlay, files); err != nil {
		return "", err
	}
	arguments := []string{"build", "-overlay=" + overlay, "-gcflags=-e"}
	for _, folder := range packages {
		arguments = append(arguments, "./"+folder)
	}
	if len(packages) > 0 {
		if out, err := exec.Command("go", arguments...).CombinedOutput(); err != nil { //nolint:gosec // our own arguments
			return string(out), err
		}
	}
	for _, suite := range suites {
		out, err := exec.Command("go", "test", "-c", "-overlay="+overlay, "-vet=off", "-o", programPath(dir, suite), "./"+suite).CombinedOutput() //nolint:gosec // our own arguments
		if err != nil {
			return string(out), err
		}
	}
	return "", nil
}

// programPath returns the path of the test program of a suite.
func programPath(dir, suite string) string {
	return filepath.Join(dir, strings.ReplaceAll(suite, "/", "_")+".test")
}

func writeOverlay(dir, overlay string, files map[string]string) error {
	if err := os.RemoveAll(filepath.Join(dir, "src")); err != nil {
		return err
	}
	root, err := os.Getwd()
	if err != nil {
		return err
	}
	replace := map[string]string{}
	for path, source := range files {
		target := filepath.Join(dir, "src", filepath.FromSlash(path))
		if err := os.MkdirAll(filepath.Dir(target), 0o750); err != nil {
			return err
		}
		if err := os.WriteFile(target, []byte(source), 0o600); err != nil {
			return err
		}
		replace[filepath.Join(root, filepath.FromSlash(path))] = target
	}
	text, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return err
	}
	return os.WriteFile(overlay, text, 0o600)
}

// compileAlone compiles one mutant that cannot be switched, and reports whether it
// compiles.
func compileAlone(o options, m *mutant) (dir string, compiles bool, err error) {
	source, err := os.ReadFile(m.file)
	if err != nil {
		return "", false, err
	}
	dir = filepath.Join(o.dir, "alone")
	files := map[string]string{m.file: applyEdits(source, slices.Clone(m.plain))}
	_, err = compilePrograms(dir, files, nil, o.suites)
	return dir, err == nil, nil
}
