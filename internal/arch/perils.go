package arch

import (
	"fmt"
	"go/ast"
	"go/token"
	"slices"
)

// checkPerils keeps what differs between perils, and between kinds of observation, in the
// file of each: no other file compares with one of them. A new peril then needs no change
// of code that is spread over the tree.
func checkPerils(tree *Tree) (broken []string) {
	declared := findPerils(tree)
	for _, file := range tree.Files {
		if file.Test || isWithin(file.Dir(), "model/modeltest") {
			continue
		}
		for _, operand := range findComparedOperands(file) {
			if peril, found := file.resolveConstant(operand); found && declared[peril] != "" && declared[peril] != file.Path {
				broken = append(broken, fmt.Sprintf("%s: it compares with %s: put what differs into the rules of the peril or kind, which %s has, and read it from there",
					file.position(operand), peril.name, declared[peril]))
			}
		}
	}
	return broken
}

// constant is a constant of a package.
type constant struct{ dir, name string }

// findPerils returns the constants of perils and kinds of observation, with their files.
func findPerils(tree *Tree) map[constant]string {
	declared := map[constant]string{}
	for _, file := range tree.Files {
		if file.Test || !isWithin(file.Dir(), "model/hazard") {
			continue
		}
		for _, decl := range file.AST.Decls {
			group, ok := decl.(*ast.GenDecl)
			if !ok || group.Tok != token.CONST {
				continue
			}
			for _, spec := range group.Specs {
				values := spec.(*ast.ValueSpec)
				if !slices.Contains([]string{"Peril", "Kind", "hazard.Peril", "hazard.Kind"}, typeName(values.Type)) {
					continue
				}
				for _, name := range values.Names {
					declared[constant{file.Dir(), name.Name}] = file.Path
				}
			}
		}
	}
	return declared
}

// findComparedOperands returns both sides of each == and != of a file, and the values of
// each case.
func findComparedOperands(file *File) (operands []ast.Expr) {
	ast.Inspect(file.AST, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.BinaryExpr:
			if n.Op == token.EQL || n.Op == token.NEQ {
				operands = append(operands, n.X, n.Y)
			}
		case *ast.CaseClause:
			operands = append(operands, n.List...)
		}
		return true
	})
	return operands
}

// resolveConstant returns the constant that an operand may name: one of the file's own
// package, or of an imported package of the module.
func (f *File) resolveConstant(operand ast.Expr) (constant, bool) {
	switch operand := operand.(type) {
	case *ast.Ident:
		return constant{f.Dir(), operand.Name}, true
	case *ast.SelectorExpr:
		pkg, ok := operand.X.(*ast.Ident)
		if !ok {
			return constant{}, false
		}
		for _, dir := range []string{"model/hazard", "model/hazard/trigger"} {
			if f.localName(Module+"/"+dir) == pkg.Name {
				return constant{dir, operand.Sel.Name}, true
			}
		}
	}
	return constant{}, false
}
