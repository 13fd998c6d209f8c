package arch

import (
	"fmt"
	"go/ast"
	"go/token"
	"path"
	"slices"
	"strings"
)

func checkPackageComments(tree *Tree) (broken []string) {
	documented := map[string]bool{}
	var dirs []string
	for _, file := range tree.Files {
		if file.Test {
			continue
		}
		if _, seen := documented[file.Dir()]; !seen {
			dirs = append(dirs, file.Dir())
		}
		documented[file.Dir()] = documented[file.Dir()] || file.AST.Doc.Text() != ""
	}
	for _, dir := range dirs {
		if !documented[dir] {
			broken = append(broken, dir+" has no package comment: say first what the package guarantees, then why")
		}
	}
	return broken
}

func checkDocumented(tree *Tree) (broken []string) {
	for _, file := range tree.Files {
		if file.Test {
			continue
		}
		for _, name := range undocumentedNames(file) {
			broken = append(broken, fmt.Sprintf("%s: %s is exported and has no comment: say first what it guarantees; units, errors and sources too", file.position(name), name.Name))
		}
	}
	return broken
}

// undocumentedNames returns the exported names of a file without a comment.
func undocumentedNames(file *File) (bare []*ast.Ident) {
	for _, decl := range file.AST.Decls {
		switch d := decl.(type) {
		case *ast.FuncDecl:
			if d.Name.IsExported() && isOnExportedType(d) && d.Doc.Text() == "" {
				bare = append(bare, d.Name)
			}
		case *ast.GenDecl:
			// One comment may describe a whole group of constants or variables, but each
			// type needs its own.
			if d.Tok == token.IMPORT || d.Doc.Text() != "" && (d.Tok != token.TYPE || len(d.Specs) == 1) {
				continue
			}
			for _, spec := range d.Specs {
				bare = append(bare, undocumentedSpec(spec)...)
			}
		}
	}
	return bare
}

func undocumentedSpec(spec ast.Spec) (bare []*ast.Ident) {
	var names []*ast.Ident
	switch s := spec.(type) {
	case *ast.TypeSpec:
		if s.Doc.Text() == "" && s.Comment.Text() == "" {
			names = []*ast.Ident{s.Name}
		}
	case *ast.ValueSpec:
		if s.Doc.Text() == "" && s.Comment.Text() == "" {
			names = s.Names
		}
	}
	return slices.DeleteFunc(slices.Clone(names), func(name *ast.Ident) bool { return !name.IsExported() })
}

// isOnExportedType reports whether a function has no receiver or an exported one; methods
// of unexported types need no comment.
func isOnExportedType(function *ast.FuncDecl) bool {
	if function.Recv == nil {
		return true
	}
	base := function.Recv.List[0].Type
	for {
		switch t := base.(type) {
		case *ast.StarExpr:
			base = t.X
		case *ast.IndexExpr:
			base = t.X
		case *ast.IndexListExpr:
			base = t.X
		case *ast.Ident:
			return t.IsExported()
		default:
			return true
		}
	}
}

// The limits of a file and a function, in lines. Tests may be longer because of their
// tables.
const (
	maxFileLines, maxFunctionLines         = 300, 60
	maxTestFileLines, maxTestFunctionLines = 500, 80
)

func checkLengths(tree *Tree) (broken []string) {
	for _, file := range tree.Files {
		whole, each := maxFileLines, maxFunctionLines
		if file.Test {
			whole, each = maxTestFileLines, maxTestFunctionLines
		}
		if file.Lines > whole {
			broken = append(broken, fmt.Sprintf("%s has %d lines, more than %d: it holds more than one noun, give the second its own file", file.Path, file.Lines, whole))
		}
		for _, function := range file.functionDecls() {
			if lines := file.lineCount(function); lines > each {
				broken = append(broken, fmt.Sprintf("%s: %s has %d lines, more than %d: give its steps names", file.position(function), function.Name.Name, lines, each))
			}
		}
	}
	return broken
}

// meaninglessWords say nothing about the purpose of a thing.
var meaninglessWords = []string{"util", "utils", "common", "helper", "helpers", "manager", "managers", "impl", "misc"}

func checkNames(tree *Tree) (broken []string) {
	const advice = "name what it guarantees instead"
	seen := map[string]bool{}
	for _, file := range tree.Files {
		if word := findMeaninglessWord(path.Base(file.Dir())); word != "" && !seen[file.Dir()] {
			seen[file.Dir()] = true
			broken = append(broken, fmt.Sprintf("%s is called %s: %s", file.Dir(), word, advice))
		}
		if word := findMeaninglessWord(strings.TrimSuffix(path.Base(file.Path), ".go")); word != "" {
			broken = append(broken, fmt.Sprintf("%s is called %s: %s", file.Path, word, advice))
		}
		for _, name := range declaredNames(file) {
			if word := findMeaninglessWord(name.Name); word != "" {
				broken = append(broken, fmt.Sprintf("%s: %s is called %s: %s", file.position(name), name.Name, word, advice))
			}
		}
	}
	return broken
}

// declaredNames returns the names that a file declares at its top level.
func declaredNames(file *File) (all []*ast.Ident) {
	for _, decl := range file.AST.Decls {
		switch d := decl.(type) {
		case *ast.FuncDecl:
			all = append(all, d.Name)
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				switch s := spec.(type) {
				case *ast.TypeSpec:
					all = append(all, s.Name)
				case *ast.ValueSpec:
					all = append(all, s.Names...)
				}
			}
		}
	}
	return all
}

// findMeaninglessWord returns one of meaninglessWords that is a word of a name, in any case style.
func findMeaninglessWord(name string) string {
	for _, w := range splitName(name) {
		if w = strings.ToLower(w); slices.Contains(meaninglessWords, w) {
			return w
		}
	}
	return ""
}

// checkStubs reports what gqlgen leaves for a field without a resolver, and handlers that
// only panic: they compile, and fail when they are called.
func checkStubs(tree *Tree) (broken []string) {
	for _, file := range tree.Files {
		if file.Test || !strings.HasPrefix(file.Path, "graph/") && !strings.HasPrefix(file.Path, "rest/") {
			continue
		}
		isResolver := strings.HasSuffix(file.Path, ".resolvers.go")
		ast.Inspect(file.AST, func(n ast.Node) bool {
			call, isCall := n.(*ast.CallExpr)
			literal, isLiteral := n.(*ast.BasicLit)
			if isCall {
				name, ok := call.Fun.(*ast.Ident)
				isCall = ok && name.Name == "panic"
			}
			if isCall && isResolver || isLiteral && strings.Contains(literal.Value, "not implemented") {
				broken = append(broken, file.position(n)+" is a stub: resolve the field by a call of node, or remove it from the schema")
			}
			return true
		})
	}
	return broken
}
