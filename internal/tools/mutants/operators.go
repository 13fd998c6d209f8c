package main

import (
	"fmt"
	"go/ast"
	"go/token"
	"regexp"
	"strconv"
	"strings"
)

// Code that is not mutated: statements that log, measure, trace, lock or release, and
// calls that format an error or reserve memory.
var (
	quietStatementPattern = regexp.MustCompile(`(?i)^[\w.()]*\b(slog|log|logger|metrics?|span|tracer?|cancel|stop)\b|\.(Lock|Unlock|RLock|RUnlock|Close|Rollback|Add|Done|Wait|Inc|Observe|SetAttributes|RecordError|Info|Warn|Debug)(Context)?\(`)
	quietCallPattern      = regexp.MustCompile(`^(make|panic|fmt\.\w+|errors\.\w+|strconv\.\w+|slog\.\w+|[\w.]*\.?(refusal|refuse|that)\b)$`)
	nilComparisonPattern  = regexp.MustCompile(`[!=]= nil$`)
	errorCheckPattern     = regexp.MustCompile(`^(\w*[eE]rr|missing|found) != nil$`)
)

// shiftedOperators maps the operators to those with a bound shifted by one.
var shiftedOperators = map[token.Token][2]string{
	token.LSS: {"<=", "Less"}, token.LEQ: {"<", "LessEqual"}, token.GTR: {">=", "Greater"}, token.GEQ: {">", "GreaterEqual"},
}

func (f *mutantFinder) visitNode(n ast.Node) {
	switch n := n.(type) {
	case *ast.IfStmt:
		f.mutateCondition(n.Cond, n.Body)
	case *ast.CaseClause:
		if s, ok := f.grandparent().(*ast.SwitchStmt); ok && s.Tag == nil && f.isInFunction() {
			for _, expression := range n.List {
				f.mutateCondition(expression, nil)
			}
		}
		f.deleteStatements(n.Body)
	case *ast.CommClause:
		f.deleteStatements(n.Body)
	case *ast.BlockStmt:
		f.deleteStatements(n.List)
	case *ast.BinaryExpr:
		f.mutateBinary(n)
	case *ast.BasicLit:
		f.mutateLiteral(n)
	case *ast.Ident:
		if n.Name == "true" || n.Name == "false" {
			f.wrapNode(n, "negate "+n.Name, "("+idMarker+" != ", ")")
		}
	}
}

func (f *mutantFinder) grandparent() ast.Node {
	if len(f.parents) < 2 {
		return nil
	}
	return f.parents[len(f.parents)-2]
}

// mutateCondition mutates the condition of a block. It skips a check for an error that is
// only passed on: every caller reports the error, and few tests cause it.
func (f *mutantFinder) mutateCondition(cond ast.Expr, body *ast.BlockStmt) {
	text := f.sourceOf(cond)
	if errorCheckPattern.MatchString(text) || text == "true" {
		return
	}
	if _, compound := cond.(*ast.BinaryExpr); body != nil {
		f.wrapNode(cond, "skip the block of if "+shortText(text), "(!"+idMarker+" && (", "))")
		if compound && isLogical(cond) {
			return
		}
	} else if isLogical(cond) {
		return
	}
	f.wrapNode(cond, "negate "+shortText(text), "("+idMarker+" != (", "))")
}

func isLogical(e ast.Expr) bool {
	b, ok := e.(*ast.BinaryExpr)
	return ok && (b.Op == token.LAND || b.Op == token.LOR)
}

func (f *mutantFinder) mutateBinary(n *ast.BinaryExpr) {
	switch n.Op {
	case token.LAND, token.LOR:
		for _, operand := range []ast.Expr{n.X, n.Y} {
			inner, ok := operand.(*ast.BinaryExpr)
			if ok && inner.Op == n.Op || nilComparisonPattern.MatchString(f.sourceOf(operand)) {
				continue
			}
			if n.Op == token.LAND {
				f.wrapNode(operand, "drop && "+shortText(f.sourceOf(operand)), "("+idMarker+" || (", "))")
			} else {
				f.wrapNode(operand, "drop || "+shortText(f.sourceOf(operand)), "(!"+idMarker+" && (", "))")
			}
		}
	case token.LSS, token.LEQ, token.GTR, token.GEQ:
		f.shiftBound(n)
	case token.EQL, token.NEQ:
		switch f.parentNode().(type) {
		case *ast.IfStmt, *ast.CaseClause:
		default:
			if !nilComparisonPattern.MatchString(f.sourceOf(n)) {
				f.wrapNode(n, "negate "+shortText(f.sourceOf(n)), "("+idMarker+" != (", "))")
			}
		}
	}
}

// shiftBound shifts the bound of a comparison.
func (f *mutantFinder) shiftBound(n *ast.BinaryExpr) {
	op, from, to := f.offset(n.OpPos), f.offset(n.Pos()), f.offset(n.End())
	other := shiftedOperators[n.Op]
	end := op + len(n.Op.String())
	f.addMutant(n, fmt.Sprintf("%s becomes %s in %s", n.Op, other[0], shortText(f.sourceOf(n))), []sourceEdit{
		{from: from, to: from, text: "mutant." + other[1] + "(" + idMarker + ", "}, {from: op, to: end, text: ","}, {from: to, to: to, text: ")", close: true},
	}, []sourceEdit{{from: op, to: end, text: other[0]}})
}

// deleteStatements deletes statements that have an effect.
func (f *mutantFinder) deleteStatements(list []ast.Stmt) {
	for _, s := range list {
		text := f.sourceOf(s)
		switch s := s.(type) {
		case *ast.ExprStmt:
			if _, call := s.X.(*ast.CallExpr); !call || quietStatementPattern.MatchString(text) || strings.HasPrefix(text, "panic(") {
				continue
			}
		case *ast.IncDecStmt:
		case *ast.AssignStmt:
			if s.Tok == token.DEFINE || strings.HasPrefix(text, "_") {
				continue
			}
		default:
			continue
		}
		f.wrapNode(s, "delete "+shortText(text), "if !"+idMarker+" { ", " }")
	}
}

func (f *mutantFinder) mutateLiteral(n *ast.BasicLit) {
	switch n.Kind {
	case token.INT:
		f.mutateInteger(n)
	case token.STRING:
		f.mutateSQL(n)
	}
}

// mutateInteger adds one to a number other than an index or a base case.
func (f *mutantFinder) mutateInteger(n *ast.BasicLit) {
	value, err := strconv.ParseInt(n.Value, 0, 64)
	if err != nil || value < 2 {
		return
	}
	before, after := "(", " + mutant.Int("+idMarker+"))"
	switch p := f.parentNode().(type) {
	case *ast.IndexExpr, *ast.SliceExpr, *ast.ArrayType:
		return
	case *ast.BinaryExpr:
		if p.Op == token.MUL && strings.Contains(f.sourceOf(p), "time.") {
			before, after = "time.Duration(", " + mutant.Int("+idMarker+"))"
		}
	}
	from, to := f.offset(n.Pos()), f.offset(n.End())
	f.addMutant(n, "add 1 to "+n.Value, []sourceEdit{{from: from, to: from, text: before}, {from: to, to: to, text: after, close: true}},
		[]sourceEdit{{from: from, to: to, text: strconv.FormatInt(value+1, 10)}})
}

// shortText returns a text on one line, shortened for a table.
func shortText(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	if r := []rune(text); len(r) > 90 {
		text = string(r[:90]) + "…"
	}
	return text
}
