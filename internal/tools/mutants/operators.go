package main

import (
	"fmt"
	"go/ast"
	"go/token"
	"regexp"
	"strconv"
	"strings"
)

// What is not mutated: statements that log, measure, trace, lock or release, and calls
// that word an error or reserve memory.
var (
	quiet     = regexp.MustCompile(`(?i)^[\w.()]*\b(slog|log|logger|metrics?|span|tracer?|cancel|stop)\b|\.(Lock|Unlock|RLock|RUnlock|Close|Rollback|Add|Done|Wait|Inc|Observe|SetAttributes|RecordError|Info|Warn|Debug)(Context)?\(`)
	quietCall = regexp.MustCompile(`^(make|panic|fmt\.\w+|errors\.\w+|strconv\.\w+|slog\.\w+|[\w.]*\.?(refusal|refuse|that)\b)$`)
	isNil     = regexp.MustCompile(`[!=]= nil$`)
	isError   = regexp.MustCompile(`^(\w*[eE]rr|missing|found) != nil$`)
)

// shifted are the operators whose bound moves by one.
var shifted = map[token.Token][2]string{
	token.LSS: {"<=", "Less"}, token.LEQ: {"<", "LessEqual"}, token.GTR: {">=", "Greater"}, token.GEQ: {">", "GreaterEqual"},
}

func (f *finder) visit(n ast.Node) {
	switch n := n.(type) {
	case *ast.IfStmt:
		f.condition(n.Cond, n.Body)
	case *ast.CaseClause:
		if s, ok := f.grandparent().(*ast.SwitchStmt); ok && s.Tag == nil && f.inFunction() {
			for _, expression := range n.List {
				f.condition(expression, nil)
			}
		}
		f.statements(n.Body)
	case *ast.CommClause:
		f.statements(n.Body)
	case *ast.BlockStmt:
		f.statements(n.List)
	case *ast.BinaryExpr:
		f.binary(n)
	case *ast.BasicLit:
		f.literal(n)
	case *ast.Ident:
		if n.Name == "true" || n.Name == "false" {
			f.wrap(n, "negate "+n.Name, "("+marker+" != ", ")")
		}
	}
}

func (f *finder) grandparent() ast.Node {
	if len(f.parents) < 2 {
		return nil
	}
	return f.parents[len(f.parents)-2]
}

// condition mutates what decides whether a block runs. An error that is only passed on
// is no condition: every caller that fails tells of it, and few tests make it fail.
func (f *finder) condition(cond ast.Expr, body *ast.BlockStmt) {
	text := f.text(cond)
	if isError.MatchString(text) || text == "true" {
		return
	}
	if _, compound := cond.(*ast.BinaryExpr); body != nil {
		f.wrap(cond, "skip the block of if "+short(text), "(!"+marker+" && (", "))")
		if compound && isLogical(cond) {
			return
		}
	} else if isLogical(cond) {
		return
	}
	f.wrap(cond, "negate "+short(text), "("+marker+" != (", "))")
}

func isLogical(e ast.Expr) bool {
	b, ok := e.(*ast.BinaryExpr)
	return ok && (b.Op == token.LAND || b.Op == token.LOR)
}

func (f *finder) binary(n *ast.BinaryExpr) {
	switch n.Op {
	case token.LAND, token.LOR:
		for _, operand := range []ast.Expr{n.X, n.Y} {
			inner, ok := operand.(*ast.BinaryExpr)
			if ok && inner.Op == n.Op || isNil.MatchString(f.text(operand)) {
				continue
			}
			if n.Op == token.LAND {
				f.wrap(operand, "drop && "+short(f.text(operand)), "("+marker+" || (", "))")
			} else {
				f.wrap(operand, "drop || "+short(f.text(operand)), "(!"+marker+" && (", "))")
			}
		}
	case token.LSS, token.LEQ, token.GTR, token.GEQ:
		f.shift(n)
	case token.EQL, token.NEQ:
		switch f.parent().(type) {
		case *ast.IfStmt, *ast.CaseClause:
		default:
			if !isNil.MatchString(f.text(n)) {
				f.wrap(n, "negate "+short(f.text(n)), "("+marker+" != (", "))")
			}
		}
	}
}

// shift moves the bound of a comparison.
func (f *finder) shift(n *ast.BinaryExpr) {
	op, from, to := f.at(n.OpPos), f.at(n.Pos()), f.at(n.End())
	other := shifted[n.Op]
	end := op + len(n.Op.String())
	f.add(n, fmt.Sprintf("%s becomes %s in %s", n.Op, other[0], short(f.text(n))), []edit{
		{from: from, to: from, text: "mutant." + other[1] + "(" + marker + ", "}, {from: op, to: end, text: ","}, {from: to, to: to, text: ")", close: true},
	}, []edit{{from: op, to: end, text: other[0]}})
}

// statements deletes statements that have an effect.
func (f *finder) statements(list []ast.Stmt) {
	for _, s := range list {
		text := f.text(s)
		switch s := s.(type) {
		case *ast.ExprStmt:
			if _, call := s.X.(*ast.CallExpr); !call || quiet.MatchString(text) || strings.HasPrefix(text, "panic(") {
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
		f.wrap(s, "delete "+short(text), "if !"+marker+" { ", " }")
	}
}

func (f *finder) literal(n *ast.BasicLit) {
	switch n.Kind {
	case token.INT:
		f.integer(n)
	case token.STRING:
		f.query(n)
	}
}

// integer adds one to a number that is no index and no base case.
func (f *finder) integer(n *ast.BasicLit) {
	value, err := strconv.ParseInt(n.Value, 0, 64)
	if err != nil || value < 2 {
		return
	}
	before, after := "(", " + mutant.Int("+marker+"))"
	switch p := f.parent().(type) {
	case *ast.IndexExpr, *ast.SliceExpr, *ast.ArrayType:
		return
	case *ast.BinaryExpr:
		if p.Op == token.MUL && strings.Contains(f.text(p), "time.") {
			before, after = "time.Duration(", " + mutant.Int("+marker+"))"
		}
	}
	from, to := f.at(n.Pos()), f.at(n.End())
	f.add(n, "add 1 to "+n.Value, []edit{{from: from, to: from, text: before}, {from: to, to: to, text: after, close: true}},
		[]edit{{from: from, to: to, text: strconv.FormatInt(value+1, 10)}})
}

// short is a text on one line that fits into a table.
func short(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	if r := []rune(text); len(r) > 90 {
		text = string(r[:90]) + "…"
	}
	return text
}
