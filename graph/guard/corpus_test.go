package guard_test

import (
	"fmt"
	"strings"

	"parapet/internal/errormap"
	"parapet/model/kernel/apperr"
)

// documentCase is a document that is more expensive than its size suggests.
type documentCase struct {
	name string
	text string
	code apperr.Code // the expected error code; empty: the document is accepted
}

func nestedText(open, shut string, n int) string {
	return strings.Repeat(open, n) + strings.Repeat(shut, n)
}

func repeatFormatted(n int, format string) string {
	var all strings.Builder
	for i := range n {
		if strings.Contains(format, "%") {
			fmt.Fprintf(&all, format, i)
		} else {
			all.WriteString(format)
		}
	}
	return all.String()
}

const spreadsFirst = `{ product(key: "quake-circle") { ...A0 } }` + "\n"

// doublingFragments are n fragments that spread the next one twice: 2ⁿ fields in few bytes.
func doublingFragments(n int) string {
	text := spreadsFirst
	for i := range n {
		text += fmt.Sprintf("fragment A%d on Product { ...A%d ...A%d }\n", i, i+1, i+1)
	}
	return text + fmt.Sprintf("fragment A%d on Product { key }\n", n)
}

// wideningFragments are n levels of fields, each twice, through fragments.
func wideningFragments(n int) string {
	text := "{node(id:1){...A0}}"
	for i := range n {
		text += fmt.Sprintf("fragment A%d on Claim{policy{claims{nodes{...A%d}}} policy{claims{nodes{...A%d}}}}", i, i+1, i+1)
	}
	return text + fmt.Sprintf("fragment A%d on Claim{id}", n)
}

const codeTooCostly = errormap.CodeQueryTooCostly

// refusedDocuments are rejected, each by the limit in its name.
func refusedDocuments() []documentCase {
	const wrong = apperr.CodeValidationFailed
	return []documentCase{
		{"3 MB of nested selection sets", nestedText("{a", "}", 3<<20/3), apperr.CodeBodyTooLarge},
		{"64 KiB of nested selection sets", nestedText("{a", "}", 64<<10/3), codeTooCostly},
		{"nested to level 16", nestedText("{a", "}", 16), codeTooCostly},
		{"7,000 repeated fields", "{viewer{" + repeatFormatted(7000, "partner ") + "}}", codeTooCostly},
		{"1,900 repeated fields", "{viewer{" + repeatFormatted(1900, "partner ") + "}}", codeTooCostly},
		{"repeated fields that repeat fields", "{" + repeatFormatted(30, "viewer{"+repeatFormatted(30, "partner ")+"}") + "}", codeTooCostly},
		{"22 nested fragments", doublingFragments(22), codeTooCostly},
		{"fragments that widen level by level", wideningFragments(6), codeTooCostly},
		{"500 fragments in a chain", fragmentChain(500), codeTooCostly},
		{"500 fragments side by side", parallelFragments(500), codeTooCostly},
		{"10,000 aliases", "{" + repeatFormatted(10_000, "a%d:__typename ") + "}", apperr.CodeBodyTooLarge},
		{"1,000 aliases", "{" + repeatFormatted(1000, "a%d:__typename ") + "}", codeTooCostly},
		{"1,000 aliases of the schema", "{" + repeatFormatted(1000, "a%d:__schema{types{name}}") + "}", codeTooCostly},
		{"types of fields of types of fields", "{__schema{types{fields{type{fields{type{fields{type{fields{type{name}}}}}}}}}}}", codeTooCostly},
		{"90 aliases of events with their data", "{" + repeatFormatted(90, "a%d:events(first:100){nodes{data}}") + "}", codeTooCostly},
		{"30 aliases of a page of quotes", "{" + repeatFormatted(30, "a%d:quotes(first:100){nodes{id}}") + "}", codeTooCostly},
		{"3 whole statements", "{" + repeatFormatted(3, "a%d:statement{csv}") + "}", codeTooCostly},
		{"13 figures", "{" + repeatFormatted(13, "a%d:portfolio{book(first:1){more}}") + "}", codeTooCostly},
		{"10,000 directives", "{viewer " + repeatFormatted(10_000, "@a%d") + "{partner}}", codeTooCostly},
		{"1,000 directives of one name", "{viewer " + repeatFormatted(1000, "@skip(if:false)") + "{partner}}", codeTooCostly},
		{"1,000 operations", repeatFormatted(1000, "query q%d{viewer{partner}}"), codeTooCostly},
		{"a list without end", "{nodes(ids:[" + repeatFormatted(12_000, "1,") + "]){id}}", codeTooCostly},
		{"an object without end", "{policies(filter:{" + repeatFormatted(4000, "a%d:1 ") + "}){totalCount}}", codeTooCostly},
		{"lists in lists", "{nodes(ids:" + nestedText("[", "]", 30_000) + "){id}}", codeTooCostly},
		{"objects in objects", "{policies(filter:" + strings.Repeat("{a:", 15_000) + "1" + strings.Repeat("}", 15_000) + "){totalCount}}", codeTooCostly},
		{"types in types", "query q($a:" + nestedText("[", "]", 30_000) + "){viewer{partner}}", codeTooCostly},
		{"nested inline fragments", "{" + strings.Repeat("...{", 10_000) + "viewer{partner}" + strings.Repeat("}", 10_001), codeTooCostly},
		{"100,000 comments", strings.Repeat("#\n", 100_000) + "{viewer{partner}}", apperr.CodeBodyTooLarge},
		{"30,000 comments", strings.Repeat("#\n", 30_000) + "{viewer{partner}}", codeTooCostly},
		{"a name without end", "{" + strings.Repeat("a", 60_000) + "}", codeTooCostly},
		{"2,000 variables", "query q(" + repeatFormatted(2000, "$a%d:Int ") + "){viewer{partner}}", codeTooCostly},
		{"inline fragments in each other, fields repeated", "{viewer{" + strings.Repeat("...{", 55) + repeatFormatted(140, "partner ") + strings.Repeat("}", 55) + "}}", codeTooCostly},
		{"objects in lists in objects", "{policies(filter:{and:[" + repeatFormatted(20, strings.Repeat("{and:[", 31)+strings.Repeat("]}", 31)) + "]}){totalCount}}", codeTooCostly},
		{"one field on many types", "{node(id:1){" + repeatFormatted(10, "...on Policy{id}...on Claim{id}...on Payout{id}...on Quote{id}...on Event{id}...on Message{id}...on Delivery{id}...on Occurrence{id}") + "}}", codeTooCostly},
		{"what a variable leaves out", "query q($s:Boolean!){policies(first:100)@skip(if:$s){nodes{claims(first:100){nodes{payouts{id}}}}}}", codeTooCostly},
		{"what a variable takes in", "query q($s:Boolean!){" + repeatFormatted(20, "a%d:portfolio@include(if:$s){claimsByStatus{count}doubt{count}book(first:1000){more}}") + "}", codeTooCostly},
		{"comments alone", strings.Repeat("#\n", 4000), wrong},
		{"a cycle of unused fragments", "{viewer{partner}} fragment A on Viewer{...B} fragment B on Viewer{...A}", wrong},
		{"connections in connections", "{policies(first:100){nodes{claims(first:100){nodes{policy{claims(first:100){nodes{id}}}}}}}}", codeTooCostly},
		{"51 mutations", "mutation{" + repeatFormatted(52, `a%d:openClaim(input:{policyId:1}){claim{id}}`) + "}", codeTooCostly},
		{"a fragment that contains itself", "{viewer{...A}} fragment A on Viewer{partner ...A}", wrong},
		{"a circle of fragments", "{node(id:1){...A}} fragment A on Policy{claims{nodes{...B}}} fragment B on Claim{policy{...A}}", wrong},
		{"an unused fragment", "{viewer{partner}}" + strings.TrimPrefix(doublingFragments(22), spreadsFirst), wrong},
		{"a fragment that is not there", "{viewer{...A}}", wrong},
		{"two fragments of one name", "{viewer{...A}}" + repeatFormatted(2, "fragment A on Viewer{partner}"), wrong},
		{"no operation", "fragment A on Viewer{partner}", wrong},
		{"nothing", "", wrong},
		{"a block string without end", `{policy(id:"""` + strings.Repeat("\n ", 30_000) + "}", wrong},
		{"quotes", `{policy(id:` + strings.Repeat(`"`, 60_000), wrong},
		{"NUL, escaped", `{policy(id:"\u0000"){id}}`, wrong},
		{"half a surrogate pair", `{policy(id:"\ud83d"){id}}`, wrong},
		{"no UTF-8", "{policy(id:\"\xff\"){id}}", wrong},
		{"a schema", "type Query{a:Int}", wrong},
	}
}

func fragmentChain(n int) string {
	text := "{viewer{...A0}}"
	for i := range n {
		text += fmt.Sprintf("fragment A%d on Viewer{...A%d}", i, i+1)
	}
	return text + fmt.Sprintf("fragment A%d on Viewer{partner}", n)
}

func parallelFragments(n int) string {
	return "{viewer{" + repeatFormatted(n, "...A%d ") + "}}" + repeatFormatted(n, "fragment A%d on Viewer{partner}")
}

// acceptedDocuments are documents just within the limits, in shapes that are expensive to
// validate. The guard accepts all of them.
func acceptedDocuments() []documentCase {
	return []documentCase{
		{"fields of one name", "{viewer{" + repeatFormatted(100, "partner ") + "}}", ""},
		{"fields of one name, and one unknown", "{viewer{" + repeatFormatted(100, "partner ") + repeatFormatted(3, strings.Repeat("x", 120)+"%d ") + "}}", ""},
		{"fields of one name, level by level", widestDocument(), ""},
		{"fields of one name with arguments", "{" + repeatFormatted(20, "policies("+repeatFormatted(75, "first:1 ")+"){totalCount}") + "}", ""},
		{"fragments side by side", parallelFragments(37), ""},
		{"fragments in a chain", fragmentChain(48), ""},
		{"fragments of fields that do not exist", conflictingPairs(9, 59), ""},
		{"unknown fields", "{" + repeatFormatted(1990, "x%d ") + "}", ""},
		{"unknown fields with long names", "{" + repeatFormatted(500, "x%0110d ") + "}", ""},
		{"unknown types with long names", "{" + repeatFormatted(100, "...on X%0110d{a%[1]d}") + "}", ""},
		{"unknown arguments", "{policies(" + repeatFormatted(1600, "x%d:1 ") + "){totalCount}}", ""},
		{"unused variables", "query q(" + repeatFormatted(1200, "$a%d:Int ") + "){viewer{partner}}", ""},
		{"variables used by every operation", repeatFormatted(10, "query q%d("+strings.ReplaceAll(repeatFormatted(60, "$a%d:ID "), "%", "%%")+"){nodes(ids:["+repeatFormatted(60, "$a%d ")+"]){id}}"), ""},
		{"objects in a list", "{policies(filter:{and:[" + repeatFormatted(900, "{x:1}") + "]}){totalCount}}", ""},
		{"members of one object", "{policies(filter:{" + repeatFormatted(1600, "a%d:1 ") + "}){totalCount}}", ""},
		{"members of one name", "{policies(filter:{" + repeatFormatted(1600, "a:1 ") + "}){totalCount}}", ""},
		{"directives", "{viewer " + repeatFormatted(190, "@skip(if:false)") + "{partner}}", ""},
		{"inline fragments in each other", "{viewer{" + strings.Repeat("...{", 55) + repeatFormatted(13, "partner ") + strings.Repeat("}", 55) + "}}", ""},
		{"operations", repeatFormatted(10, "query q%d{viewer{"+repeatFormatted(31, "partner ")+"}}"), ""},
		{"aliases", "{" + repeatFormatted(100, "a%d:policies(first:1){nodes{id}}") + "}", ""},
		{"one conflict of many fields", "{viewer{" + repeatFormatted(50, "partner ") + "} viewer{" + repeatFormatted(49, "partner:kind ") + "}}", ""},
		{"many conflicts of few fields", "{" + repeatFormatted(35, "viewer{partner} viewer{partner:kind}") + "}", ""},
		{"conflicting arguments", "{" + repeatFormatted(70, "a:policies(first:%d){totalCount}") + "}", ""},
		{"arguments of a directive", "{viewer @skip(" + repeatFormatted(1600, "a%d:1 ") + "){partner}}", ""},
		{"unknown directives with long names", "{viewer " + repeatFormatted(190, "@a%0110d") + "{partner}}", ""},
		{"words that an enum lacks", "{portfolio{book(by:[" + repeatFormatted(4000, "PRODUC%d ") + "]){more}}}", ""},
		{"variables of the wrong type", "query q(" + repeatFormatted(500, "$a%d:Boolean ") + "){nodes(ids:[" + repeatFormatted(500, "$a%d ") + "]){id}}", ""},
		{"undefined variables", "{nodes(ids:[" + repeatFormatted(2400, "$a%d ") + "]){id}}", ""},
		{"a block string of lines", `{policy(id:"""` + strings.Repeat("\n ", 30_000) + `x"""){id}}`, ""},
		{"many block strings", "{policies(filter:{" + repeatFormatted(700, `a%d:"""`+strings.Repeat("\n  ", 20)+`""" `) + "}){totalCount}}", ""},
		{"surrogate pairs", `{policy(id:"` + strings.Repeat(`\ud83d\ude00`, 5000) + `"){id}}`, ""},
		{"a number without end", "{policies(first:" + strings.Repeat("9", 60_000) + "){totalCount}}", ""},
		{"byte order marks", strings.Repeat("\ufeff", 20_000) + "{viewer{partner}}", ""},
		{"a long text", `{policy(id:"` + strings.Repeat("é", 32_000) + `"){id}}`, ""},
	}
}

// widestDocument repeats fields on every level up to the limits.
func widestDocument() string {
	text := "id"
	for range 3 {
		text = "policy{claims{nodes{" + text + "}}} policy{claims{nodes{" + text + "}}}"
	}
	return "{node(id:1){...on Claim{" + text + "}}}"
}

// conflictingPairs are n fields of one name that each spread a fragment of m fields.
func conflictingPairs(n, m int) string {
	text := "{" + repeatFormatted(n, "viewer{...A%d}") + "}"
	for i := range n {
		text += fmt.Sprintf("fragment A%d on Viewer{%s}", i, repeatFormatted(m, fmt.Sprintf("x%d_%%d ", i)))
	}
	return text
}
