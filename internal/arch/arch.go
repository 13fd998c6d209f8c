// Package arch checks the house rules: which package may import which, what must be
// documented, how long a file may be, where the clock may be read. The rules parse the
// source and need only Go. A violation fails the tests with a sentence that says what to
// do instead.
package arch

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"slices"
	"strings"
)

// Module is the import path of the module whose tree is checked.
const Module = "parapet"

// Rule is one house rule.
type Rule struct {
	Name  string
	Check func(*Tree) []string // returns every violation, with what to do
}

// Rules returns all rules.
func Rules() []Rule {
	return []Rule{
		{"top level", checkTopLevel},
		{"imports", checkImports},
		{"order", checkOrder},
		{"subdomains", checkSubdomains},
		{"package size", checkPackageSizes},
		{"package comment", checkPackageComments},
		{"documented", checkDocumented},
		{"length", checkLengths},
		{"clock", checkClock},
		{"sleep", checkSleep},
		{"require", checkTestify},
		{"parallel", checkParallel},
		{"names", checkNames},
		{"words", checkWords},
		{"one-word names", checkOneWordNames},
		{"transactions", checkTransactions},
		{"perils", checkPerils},
		{"stubs", checkStubs},
	}
}

// Tree is the source of a module.
type Tree struct {
	Names []string // entries of the module's root
	Files []*File  // hand-written Go files, sorted by path
}

// File is one hand-written Go file.
type File struct {
	Path  string // from the module's root, with slashes
	Test  bool
	Lines int
	AST   *ast.File

	positions *token.FileSet
}

// Dir returns the folder, which is the import path below the module.
func (f *File) Dir() string { return path.Dir(f.Path) }

// position returns the position of a node for a message.
func (f *File) position(node ast.Node) string {
	return fmt.Sprintf("%s:%d", f.Path, f.positions.Position(node.Pos()).Line)
}

// lineCount returns the number of lines of a node.
func (f *File) lineCount(node ast.Node) int {
	return f.positions.Position(node.End()).Line - f.positions.Position(node.Pos()).Line + 1
}

// findCalls finds the uses of members of the package importPath in a node, such as
// time.Now, even if the import is renamed.
func (f *File) findCalls(node ast.Node, importPath string, members ...string) (found []*ast.SelectorExpr) {
	local := f.localName(importPath)
	if local == "" {
		return nil
	}
	ast.Inspect(node, func(n ast.Node) bool {
		if selector, ok := n.(*ast.SelectorExpr); ok && slices.Contains(members, selector.Sel.Name) {
			if name, ok := selector.X.(*ast.Ident); ok && name.Name == local && name.Obj == nil {
				found = append(found, selector)
			}
		}
		return true
	})
	return found
}

func (f *File) localName(importPath string) string {
	for _, spec := range f.AST.Imports {
		if importPathOf(spec) != importPath {
			continue
		}
		if spec.Name != nil {
			return spec.Name.Name
		}
		return path.Base(importPath)
	}
	return ""
}

func importPathOf(spec *ast.ImportSpec) string { return strings.Trim(spec.Path.Value, `"`) }

// skippedDirs are folders without source of this module.
var skippedDirs = []string{"testdata", "node_modules", "vendor", "bin"}

// Load parses every hand-written Go file under root. It skips generated files and nested
// modules.
func Load(root fs.FS) (*Tree, error) {
	tree := &Tree{}
	entries, err := fs.ReadDir(root, ".")
	if err != nil {
		return nil, err
	}
	for _, entry := range entries {
		tree.Names = append(tree.Names, entry.Name())
	}
	err = fs.WalkDir(root, ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir():
			return skipDir(root, name)
		case path.Ext(name) != ".go":
			return nil
		}
		return tree.addFile(root, name)
	})
	return tree, err
}

func skipDir(root fs.FS, name string) error {
	base := path.Base(name)
	if name == "." {
		return nil
	}
	if strings.HasPrefix(base, ".") || slices.Contains(skippedDirs, base) {
		return fs.SkipDir
	}
	if _, err := fs.Stat(root, path.Join(name, "go.mod")); err == nil {
		return fs.SkipDir
	}
	return nil
}

func (t *Tree) addFile(root fs.FS, name string) error {
	text, err := fs.ReadFile(root, name)
	if err != nil {
		return err
	}
	positions := token.NewFileSet()
	parsed, err := parser.ParseFile(positions, name, text, parser.ParseComments)
	if err != nil {
		return err
	}
	if ast.IsGenerated(parsed) {
		return nil
	}
	t.Files = append(t.Files, &File{
		Path: name, Test: strings.HasSuffix(name, "_test.go"), AST: parsed,
		Lines: strings.Count(string(text), "\n"), positions: positions,
	})
	return nil
}

// functionDecls returns a file's functions and methods.
func (f *File) functionDecls() (all []*ast.FuncDecl) {
	for _, decl := range f.AST.Decls {
		if function, ok := decl.(*ast.FuncDecl); ok {
			all = append(all, function)
		}
	}
	return all
}
