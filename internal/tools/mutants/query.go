package main

import (
	"go/ast"
	"regexp"
	"strconv"
	"strings"
)

var (
	sqlPattern        = regexp.MustCompile(`(?i)\b(select|update|insert|delete|where|join|having)\b`)
	conjunctPattern   = regexp.MustCompile(`(?i)\b(where|and)\s+`)
	comparisonPattern = regexp.MustCompile(` (<|<=|>|>=) `)
	conditionPattern  = regexp.MustCompile(`(?i)^(not\s|exists\b|[\w.()$:'"]+\s*(=|<>|<=|>=|<|>|is\b|in\b|like\b))`)
	// end of a condition outside parentheses
	conditionEndPattern = regexp.MustCompile(`(?i)^(\s+(and|or|where|join|left|inner|from|set|order|group|limit|returning|for|on|having|union|offset)\b|,|;)`)
)

// mutateSQL mutates the conditions of SQL: it makes a condition of a conjunction true for
// every row, and shifts bounds by one. Parameters stay in the text, so that the statement
// stays valid.
func (f *mutantFinder) mutateSQL(n *ast.BasicLit) {
	text, err := strconv.Unquote(n.Value)
	if err != nil {
		return
	}
	if call, ok := f.parentNode().(*ast.CallExpr); ok && len(call.Args) > 0 && call.Args[0] == n && isWhere(call) {
		f.replaceText(n, "drop where "+shortText(text), "("+text+") or true")
	} else if !sqlPattern.MatchString(text) && !strings.HasPrefix(strings.TrimSpace(text), "and ") {
		return
	}
	_, joined := f.parentNode().(*ast.BinaryExpr)
	for _, at := range conjunctPattern.FindAllStringIndex(text, -1) {
		end := endOfCondition(text, at[1])
		condition := text[at[1]:end]
		if joined && end == len(text) || !conditionPattern.MatchString(condition) || followsBetween(text[:at[0]]) {
			continue
		}
		f.replaceText(n, "drop condition "+shortText(condition), text[:at[1]]+"(("+condition+") or true)"+text[end:])
	}
	other := map[string]string{"<": "<=", "<=": "<", ">": ">=", ">=": ">"}
	for _, at := range comparisonPattern.FindAllStringSubmatchIndex(text, -1) {
		op := text[at[2]:at[3]]
		around := text[max(0, at[0]-30):min(len(text), at[1]+30)]
		f.replaceText(n, op+" becomes "+other[op]+" in SQL "+shortText(around), text[:at[2]]+other[op]+text[at[3]:])
	}
}

func isWhere(call *ast.CallExpr) bool {
	s, ok := call.Fun.(*ast.SelectorExpr)
	return ok && s.Sel.Name == "Where"
}

func followsBetween(before string) bool {
	words := strings.Fields(before)
	return len(words) > 1 && strings.EqualFold(words[len(words)-2], "between")
}

// endOfCondition returns the end of the condition that begins at from.
func endOfCondition(text string, from int) int {
	depth := 0
	for i := from; i < len(text); i++ {
		switch text[i] {
		case '(':
			depth++
		case ')':
			if depth--; depth < 0 {
				return i
			}
		}
		if depth == 0 && conditionEndPattern.MatchString(text[i:]) {
			return i
		}
	}
	return len(text)
}

// replaceText replaces a text.
func (f *mutantFinder) replaceText(n *ast.BasicLit, what, text string) {
	from, to := f.offset(n.Pos()), f.offset(n.End())
	f.addMutant(n, what, []sourceEdit{{from: from, to: from, text: "mutant.Text(" + idMarker + ", "}, {from: to, to: to, text: ", " + strconv.Quote(text) + ")", close: true}},
		[]sourceEdit{{from: from, to: to, text: strconv.Quote(text)}})
}
