package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"sort"
	"strings"
)

// mutant is one change to one file.
type mutant struct {
	id       int // its number in the build
	key      string
	file     string // relative to the module
	line     int
	function string
	what     string
	switched []sourceEdit // the change behind a switch; empty if it cannot be switched
	plain    []sourceEdit // the change itself
	names    []string
}

// sourceEdit replaces source bytes. marker in text is replaced by the mutant's number.
type sourceEdit struct {
	from, to int
	text     string
	close    bool // belongs to the code that ends here, not to the code that begins here
	order    int
}

const idMarker = "@@" // the mutant's number in the text of an edit

// mutantFinder collects the mutants of a file.
type mutantFinder struct {
	file     string
	source   []byte
	set      *token.FileSet
	function string
	parents  []ast.Node
	found    []*mutant
	count    map[string]int
	order    int
}

// findMutants returns the mutants of all packages in the order of files and lines.
func findMutants(packages []string) ([]*mutant, error) {
	var all []*mutant
	for _, folder := range packages {
		names, err := filepath.Glob(filepath.Join(folder, "*.go"))
		if err != nil {
			return nil, err
		}
		sort.Strings(names)
		for _, name := range names {
			if strings.HasSuffix(name, "_test.go") {
				continue
			}
			found, err := findInFile(name)
			if err != nil {
				return nil, err
			}
			all = append(all, found...)
		}
	}
	for i, m := range all {
		m.id = i + 1
	}
	return all, nil
}

func findInFile(name string) ([]*mutant, error) {
	source, err := os.ReadFile(name) //nolint:gosec // a file of the tree
	if err != nil {
		return nil, err
	}
	f := &mutantFinder{file: filepath.ToSlash(name), source: source, set: token.NewFileSet(), count: map[string]int{}}
	tree, err := parser.ParseFile(f.set, name, source, parser.SkipObjectResolution|parser.ParseComments)
	if err != nil || ast.IsGenerated(tree) {
		return nil, err
	}
	ast.Inspect(tree, func(n ast.Node) bool {
		if n == nil {
			f.parents = f.parents[:len(f.parents)-1]
			return true
		}
		if f.isSkipped(n) {
			return false
		}
		f.visitNode(n)
		f.parents = append(f.parents, n)
		return true
	})
	return f.found, nil
}

// isSkipped reports whether nothing below a node is mutated: it logs, measures, releases
// or formats an error, so that no behaviour depends on it or every test would hang.
func (f *mutantFinder) isSkipped(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.FuncDecl:
		f.function = n.Name.Name
		return n.Body == nil || n.Name.Name == "String"
	case *ast.GenDecl:
		return n.Tok == token.IMPORT || n.Tok == token.TYPE
	case *ast.ExprStmt:
		return quietStatementPattern.MatchString(f.sourceOf(n))
	case *ast.CallExpr:
		return quietCallPattern.MatchString(f.sourceOf(n.Fun))
	}
	return false
}

func (f *mutantFinder) sourceOf(n ast.Node) string {
	return string(f.source[f.offset(n.Pos()):f.offset(n.End())])
}

func (f *mutantFinder) offset(p token.Pos) int { return f.set.Position(p).Offset }

func (f *mutantFinder) parentNode() ast.Node {
	if len(f.parents) == 0 {
		return nil
	}
	return f.parents[len(f.parents)-1]
}

// isInFunction reports whether the node is code of a function, so that a mutant can be
// switched.
func (f *mutantFinder) isInFunction() bool {
	for _, p := range f.parents {
		switch p.(type) {
		case *ast.FuncDecl, *ast.FuncLit:
			return true
		}
	}
	return false
}

// addMutant records a mutant at a node. Wrapping edits keep the line numbers.
func (f *mutantFinder) addMutant(n ast.Node, what string, switched, plain []sourceEdit) {
	f.order++
	for _, edits := range [][]sourceEdit{switched, plain} {
		for i := range edits {
			edits[i].order = f.order
		}
	}
	if !f.isInFunction() {
		switched = nil
	}
	line := f.set.Position(n.Pos()).Line
	function := f.function
	if !f.isInFunction() {
		function = "-"
	}
	whole := strings.TrimSpace(strings.Split(string(f.source), "\n")[line-1])
	key := strings.Join([]string{f.file, function, whole, what}, "|")
	f.count[key]++
	if f.count[key] > 1 {
		key = fmt.Sprintf("%s|%d", key, f.count[key])
	}
	f.found = append(f.found, &mutant{key: key, file: f.file, line: line, function: function, what: what, switched: switched, plain: plain, names: f.declaredNames()})
}

// declaredNames returns the names of the package declaration that contains a node.
func (f *mutantFinder) declaredNames() (names []string) {
	for _, p := range f.parents {
		if spec, ok := p.(*ast.ValueSpec); ok {
			for _, name := range spec.Names {
				names = append(names, name.Name)
			}
		}
	}
	return names
}

// wrapNode puts a node between two texts, which read the active mutant by marker.
func (f *mutantFinder) wrapNode(n ast.Node, what, before, after string) {
	from, to := f.offset(n.Pos()), f.offset(n.End())
	edits := func(active string) []sourceEdit {
		return []sourceEdit{
			{from: from, to: from, text: strings.ReplaceAll(before, idMarker, active)},
			{from: to, to: to, text: strings.ReplaceAll(after, idMarker, active), close: true},
		}
	}
	f.addMutant(n, what, edits("mutant.At("+idMarker+")"), edits("true"))
}
