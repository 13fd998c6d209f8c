package main

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// mutantsOf are the mutants of a source.
func mutantsOf(t *testing.T, source string) []*mutant {
	t.Helper()
	name := filepath.Join(t.TempDir(), "x.go")
	if err := os.WriteFile(name, []byte(source), 0o600); err != nil {
		t.Fatal(err)
	}
	found, err := findInFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func TestMutantsOfConditionsBoundsNumbersAndStatements(t *testing.T) {
	t.Parallel()
	var what []string
	for _, m := range mutantsOf(t, `package x

const most = 5

func f(a, b int) (n int, err error) {
	if a < b && a != 0 {
		n++
	}
	if err != nil {
		return 0, err
	}
	g(true)
	return n, nil
}
`) {
		what = append(what, m.what)
		if len(m.switched) == 0 && m.function != "-" {
			t.Errorf("%s cannot be switched", m.what)
		}
	}
	want := []string{
		"add 1 to 5", "delete g(true)", "skip the block of if a < b && a != 0", "drop && a < b", "drop && a != 0",
		"< becomes <= in a < b", "negate a != 0", "delete n++", "negate true",
	}
	slices.Sort(what)
	slices.Sort(want)
	if !slices.Equal(what, want) {
		t.Errorf("found %q, not %q", what, want)
	}
}

func TestConditionsOfQueriesHoldForEveryRow(t *testing.T) {
	t.Parallel()
	var texts []string
	source := "package x\n\nfunc f() {\n\tq(`select from t where a = $1 and b between 1 and 2 and c < $2`)\n}\n"
	for _, m := range mutantsOf(t, source) {
		if strings.Contains(m.what, "condition") || strings.Contains(m.what, "becomes") {
			text, err := strconv.Unquote(m.plain[0].text)
			if err != nil {
				t.Fatal(err)
			}
			texts = append(texts, text)
		}
	}
	want := []string{
		"select from t where ((a = $1) or true) and b between 1 and 2 and c < $2",
		"select from t where a = $1 and b between 1 and 2 and ((c < $2) or true)",
		"select from t where a = $1 and b between 1 and 2 and c <= $2",
	}
	if !slices.Equal(texts, want) {
		t.Errorf("found %q, not %q", texts, want)
	}
}

func TestNestedMutantsKeepLinesAndOrder(t *testing.T) {
	t.Parallel()
	source := "package x\n\nfunc f(a, b int) bool {\n\tif a < 2 {\n\t\treturn true\n\t}\n\treturn a == b\n}\n"
	var edits []sourceEdit
	for _, m := range mutantsOf(t, source) {
		edits = append(edits, m.switched...)
	}
	const want = "package x\n\nfunc f(a, b int) bool {\n" +
		"\tif (!mutant.At(@@) && ((mutant.At(@@) != (mutant.Less(@@, a , (2 + mutant.Int(@@))))))) {\n" +
		"\t\treturn (mutant.At(@@) != true)\n\t}\n\treturn (mutant.At(@@) != (a == b))\n}\n"
	if got := applyEdits([]byte(source), edits); got != want {
		t.Errorf("made %s", got)
	}
}

func TestMutantKeepsItsKeyWhenLinesMove(t *testing.T) {
	t.Parallel()
	source := "package x\n\nfunc f(a int) {\n\ta++\n\ta++\n}\n"
	before, after := mutantsOf(t, source), mutantsOf(t, strings.Replace(source, "\n\n", "\n\n// More.\n\n", 1))
	for i := range before {
		_, was, _ := strings.Cut(before[i].key, "|")
		_, is, _ := strings.Cut(after[i].key, "|")
		if was != is || before[i].line == after[i].line {
			t.Errorf("%s became %s", was, is)
		}
	}
	if len(before) != 2 || before[0].key == before[1].key {
		t.Errorf("equal statements have equal keys")
	}
}

func TestFoldersBelowAreListedWithCodeOrTests(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	for _, name := range []string{"a.go", "b/b.go", "b/b_test.go", "c/c_test.go", "modeltest/m.go", "d/notes.txt"} {
		file := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o750); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	code, tests := expandFolders(root+"/...,jobs", false), expandFolders(root+"/...", true)
	if !slices.Equal(code, []string{root, root + "/b", "jobs"}) || !slices.Equal(tests, []string{root + "/b", root + "/c"}) {
		t.Errorf("found code in %q and tests in %q", code, tests)
	}
}
