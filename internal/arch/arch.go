// Package arch holds the house rules as code: who may import whom, what is
// documented, how long a file may be, where the clock may be read. The rules
// parse the source and need no tool but Go; a broken one fails the tests with a
// sentence that tells what to do instead.
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

// Rule is one habit of the house.
type Rule struct {
	Name  string
	Check func(*Tree) []string // every place that breaks it, with what to do
}

// Rules lists all of them.
func Rules() []Rule {
	return []Rule{
		{"top level", topLevel},
		{"imports", imports},
		{"package comment", packageComments},
		{"documented", documented},
		{"length", lengths},
		{"clock", clock},
		{"sleep", sleep},
		{"require", requireOnly},
		{"parallel", parallel},
		{"names", names},
		{"transactions", transactions},
	}
}

// Tree is the source of a module.
type Tree struct {
	Names []string // the entries of the module's root
	Files []*File  // hand-written Go files, in order of path
}

// File is one hand-written Go file.
type File struct {
	Path  string // from the module's root, with slashes
	Test  bool
	Lines int
	AST   *ast.File

	positions *token.FileSet
}

// Dir is the folder, which is the import path below the module.
func (f *File) Dir() string { return path.Dir(f.Path) }

// at says where a node is, for a message.
func (f *File) at(node ast.Node) string {
	return fmt.Sprintf("%s:%d", f.Path, f.positions.Position(node.Pos()).Line)
}

// span is the number of lines of a node.
func (f *File) span(node ast.Node) int {
	return f.positions.Position(node.End()).Line - f.positions.Position(node.Pos()).Line + 1
}

// calls finds where the node uses members of the package imported from
// importPath: time.Now, also when time goes by another name.
func (f *File) calls(node ast.Node, importPath string, members ...string) (found []*ast.SelectorExpr) {
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
		if imported(spec) != importPath {
			continue
		}
		if spec.Name != nil {
			return spec.Name.Name
		}
		return path.Base(importPath)
	}
	return ""
}

func imported(spec *ast.ImportSpec) string { return strings.Trim(spec.Path.Value, `"`) }

// skipped are folders that hold no source of this module.
var skipped = []string{"testdata", "node_modules", "vendor", "bin"}

// Load parses every hand-written Go file under root. Generated files and nested
// modules are left out.
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
			return enter(root, name)
		case path.Ext(name) != ".go":
			return nil
		}
		return tree.add(root, name)
	})
	return tree, err
}

func enter(root fs.FS, name string) error {
	base := path.Base(name)
	if name == "." {
		return nil
	}
	if strings.HasPrefix(base, ".") || slices.Contains(skipped, base) {
		return fs.SkipDir
	}
	if _, err := fs.Stat(root, path.Join(name, "go.mod")); err == nil {
		return fs.SkipDir
	}
	return nil
}

func (t *Tree) add(root fs.FS, name string) error {
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

// functions lists a file's functions and methods.
func (f *File) functions() (all []*ast.FuncDecl) {
	for _, decl := range f.AST.Decls {
		if function, ok := decl.(*ast.FuncDecl); ok {
			all = append(all, function)
		}
	}
	return all
}
