package guard_test

import (
	"fmt"
	"strings"

	"parapet/internal/refusal"
	"parapet/model"
)

// attack is a document made to cost more than it says.
type attack struct {
	name string
	text string
	code model.Code // of its refusal; empty: it is let through
}

func nested(open, shut string, n int) string {
	return strings.Repeat(open, n) + strings.Repeat(shut, n)
}

func many(n int, format string) string {
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

// doubling are n fragments that spread the next one twice: 2ⁿ fields in few bytes.
func doubling(n int) string {
	text := spreadsFirst
	for i := range n {
		text += fmt.Sprintf("fragment A%d on Product { ...A%d ...A%d }\n", i, i+1, i+1)
	}
	return text + fmt.Sprintf("fragment A%d on Product { key }\n", n)
}

// widening are n levels of fields, each twice, through fragments.
func widening(n int) string {
	text := "{node(id:1){...A0}}"
	for i := range n {
		text += fmt.Sprintf("fragment A%d on Claim{policy{claims{nodes{...A%d}}} policy{claims{nodes{...A%d}}}}", i, i+1, i+1)
	}
	return text + fmt.Sprintf("fragment A%d on Claim{id}", n)
}

const costly = refusal.CodeQueryTooCostly

// attacks are refused, each by the limit that its name tells.
func attacks() []attack {
	const wrong = model.CodeValidationFailed
	return []attack{
		{"3 MB of nested selection sets", nested("{a", "}", 3<<20/3), model.CodeBodyTooLarge},
		{"64 KiB of nested selection sets", nested("{a", "}", 64<<10/3), costly},
		{"nested to level 16", nested("{a", "}", 16), costly},
		{"7,000 repeated fields", "{viewer{" + many(7000, "partner ") + "}}", costly},
		{"1,900 repeated fields", "{viewer{" + many(1900, "partner ") + "}}", costly},
		{"repeated fields that repeat fields", "{" + many(30, "viewer{"+many(30, "partner ")+"}") + "}", costly},
		{"22 nested fragments", doubling(22), costly},
		{"fragments that widen level by level", widening(6), costly},
		{"500 fragments in a chain", chain(500), costly},
		{"500 fragments side by side", sideBySide(500), costly},
		{"10,000 aliases", "{" + many(10_000, "a%d:__typename ") + "}", model.CodeBodyTooLarge},
		{"1,000 aliases", "{" + many(1000, "a%d:__typename ") + "}", costly},
		{"1,000 aliases of the schema", "{" + many(1000, "a%d:__schema{types{name}}") + "}", costly},
		{"types of fields of types of fields", "{__schema{types{fields{type{fields{type{fields{type{fields{type{name}}}}}}}}}}}", costly},
		{"90 aliases of events with their data", "{" + many(90, "a%d:events(first:100){nodes{data}}") + "}", costly},
		{"30 aliases of a page of quotes", "{" + many(30, "a%d:quotes(first:100){nodes{id}}") + "}", costly},
		{"3 whole statements", "{" + many(3, "a%d:statement{csv}") + "}", costly},
		{"13 figures", "{" + many(13, "a%d:portfolio{book(first:1){more}}") + "}", costly},
		{"10,000 directives", "{viewer " + many(10_000, "@a%d") + "{partner}}", costly},
		{"1,000 directives of one name", "{viewer " + many(1000, "@skip(if:false)") + "{partner}}", costly},
		{"1,000 operations", many(1000, "query q%d{viewer{partner}}"), costly},
		{"a list without end", "{nodes(ids:[" + many(12_000, "1,") + "]){id}}", costly},
		{"an object without end", "{policies(filter:{" + many(4000, "a%d:1 ") + "}){totalCount}}", costly},
		{"lists in lists", "{nodes(ids:" + nested("[", "]", 30_000) + "){id}}", costly},
		{"objects in objects", "{policies(filter:" + strings.Repeat("{a:", 15_000) + "1" + strings.Repeat("}", 15_000) + "){totalCount}}", costly},
		{"types in types", "query q($a:" + nested("[", "]", 30_000) + "){viewer{partner}}", costly},
		{"nested inline fragments", "{" + strings.Repeat("...{", 10_000) + "viewer{partner}" + strings.Repeat("}", 10_001), costly},
		{"100,000 comments", strings.Repeat("#\n", 100_000) + "{viewer{partner}}", model.CodeBodyTooLarge},
		{"30,000 comments", strings.Repeat("#\n", 30_000) + "{viewer{partner}}", costly},
		{"a name without end", "{" + strings.Repeat("a", 60_000) + "}", costly},
		{"2,000 variables", "query q(" + many(2000, "$a%d:Int ") + "){viewer{partner}}", costly},
		{"inline fragments in each other, fields repeated", "{viewer{" + strings.Repeat("...{", 55) + many(140, "partner ") + strings.Repeat("}", 55) + "}}", costly},
		{"objects in lists in objects", "{policies(filter:{and:[" + many(20, strings.Repeat("{and:[", 31)+strings.Repeat("]}", 31)) + "]}){totalCount}}", costly},
		{"one field on many types", "{node(id:1){" + many(10, "...on Policy{id}...on Claim{id}...on Payout{id}...on Quote{id}...on Event{id}...on Message{id}...on Delivery{id}...on Occurrence{id}") + "}}", costly},
		{"what a variable leaves out", "query q($s:Boolean!){policies(first:100)@skip(if:$s){nodes{claims(first:100){nodes{payouts{id}}}}}}", costly},
		{"what a variable takes in", "query q($s:Boolean!){" + many(20, "a%d:portfolio@include(if:$s){claimsByStatus{count}doubt{count}book(first:1000){more}}") + "}", costly},
		{"comments alone", strings.Repeat("#\n", 4000), wrong},
		{"a circle of fragments for nobody", "{viewer{partner}} fragment A on Viewer{...B} fragment B on Viewer{...A}", wrong},
		{"connections in connections", "{policies(first:100){nodes{claims(first:100){nodes{policy{claims(first:100){nodes{id}}}}}}}}", costly},
		{"51 mutations", "mutation{" + many(52, `a%d:openClaim(input:{policyId:1}){claim{id}}`) + "}", costly},
		{"a fragment that contains itself", "{viewer{...A}} fragment A on Viewer{partner ...A}", wrong},
		{"a circle of fragments", "{node(id:1){...A}} fragment A on Policy{claims{nodes{...B}}} fragment B on Claim{policy{...A}}", wrong},
		{"a fragment for nobody", "{viewer{partner}}" + strings.TrimPrefix(doubling(22), spreadsFirst), wrong},
		{"a fragment that is not there", "{viewer{...A}}", wrong},
		{"two fragments of one name", "{viewer{...A}}" + many(2, "fragment A on Viewer{partner}"), wrong},
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

func chain(n int) string {
	text := "{viewer{...A0}}"
	for i := range n {
		text += fmt.Sprintf("fragment A%d on Viewer{...A%d}", i, i+1)
	}
	return text + fmt.Sprintf("fragment A%d on Viewer{partner}", n)
}

func sideBySide(n int) string {
	return "{viewer{" + many(n, "...A%d ") + "}}" + many(n, "fragment A%d on Viewer{partner}")
}

// largest are documents just within the limits, of the shapes that validation
// likes least. All of them are let through to it.
func largest() []attack {
	return []attack{
		{"fields of one name", "{viewer{" + many(100, "partner ") + "}}", ""},
		{"fields of one name, and one unknown", "{viewer{" + many(100, "partner ") + many(3, strings.Repeat("x", 120)+"%d ") + "}}", ""},
		{"fields of one name, level by level", widest(), ""},
		{"fields of one name with arguments", "{" + many(20, "policies("+many(75, "first:1 ")+"){totalCount}") + "}", ""},
		{"fragments side by side", sideBySide(37), ""},
		{"fragments in a chain", chain(48), ""},
		{"fragments of fields that do not exist", pairs(9, 59), ""},
		{"unknown fields", "{" + many(1990, "x%d ") + "}", ""},
		{"unknown fields with long names", "{" + many(500, "x%0110d ") + "}", ""},
		{"unknown types with long names", "{" + many(100, "...on X%0110d{a%[1]d}") + "}", ""},
		{"unknown arguments", "{policies(" + many(1600, "x%d:1 ") + "){totalCount}}", ""},
		{"unused variables", "query q(" + many(1200, "$a%d:Int ") + "){viewer{partner}}", ""},
		{"variables used by every operation", many(10, "query q%d("+strings.ReplaceAll(many(60, "$a%d:ID "), "%", "%%")+"){nodes(ids:["+many(60, "$a%d ")+"]){id}}"), ""},
		{"objects in a list", "{policies(filter:{and:[" + many(900, "{x:1}") + "]}){totalCount}}", ""},
		{"members of one object", "{policies(filter:{" + many(1600, "a%d:1 ") + "}){totalCount}}", ""},
		{"members of one name", "{policies(filter:{" + many(1600, "a:1 ") + "}){totalCount}}", ""},
		{"directives", "{viewer " + many(190, "@skip(if:false)") + "{partner}}", ""},
		{"inline fragments in each other", "{viewer{" + strings.Repeat("...{", 55) + many(13, "partner ") + strings.Repeat("}", 55) + "}}", ""},
		{"operations", many(10, "query q%d{viewer{"+many(31, "partner ")+"}}"), ""},
		{"aliases", "{" + many(100, "a%d:policies(first:1){nodes{id}}") + "}", ""},
		{"one conflict of many fields", "{viewer{" + many(50, "partner ") + "} viewer{" + many(49, "partner:kind ") + "}}", ""},
		{"many conflicts of few fields", "{" + many(35, "viewer{partner} viewer{partner:kind}") + "}", ""},
		{"conflicting arguments", "{" + many(70, "a:policies(first:%d){totalCount}") + "}", ""},
		{"arguments of a directive", "{viewer @skip(" + many(1600, "a%d:1 ") + "){partner}}", ""},
		{"unknown directives with long names", "{viewer " + many(190, "@a%0110d") + "{partner}}", ""},
		{"words that an enum lacks", "{portfolio{book(by:[" + many(4000, "PRODUC%d ") + "]){more}}}", ""},
		{"variables of the wrong type", "query q(" + many(500, "$a%d:Boolean ") + "){nodes(ids:[" + many(500, "$a%d ") + "]){id}}", ""},
		{"variables that nobody defines", "{nodes(ids:[" + many(2400, "$a%d ") + "]){id}}", ""},
		{"a block string of lines", `{policy(id:"""` + strings.Repeat("\n ", 30_000) + `x"""){id}}`, ""},
		{"many block strings", "{policies(filter:{" + many(700, `a%d:"""`+strings.Repeat("\n  ", 20)+`""" `) + "}){totalCount}}", ""},
		{"surrogate pairs", `{policy(id:"` + strings.Repeat(`\ud83d\ude00`, 5000) + `"){id}}`, ""},
		{"a number without end", "{policies(first:" + strings.Repeat("9", 60_000) + "){totalCount}}", ""},
		{"byte order marks", strings.Repeat("\ufeff", 20_000) + "{viewer{partner}}", ""},
		{"a long text", `{policy(id:"` + strings.Repeat("é", 32_000) + `"){id}}`, ""},
	}
}

// widest repeats fields on every level as far as the limits go.
func widest() string {
	text := "id"
	for range 3 {
		text = "policy{claims{nodes{" + text + "}}} policy{claims{nodes{" + text + "}}}"
	}
	return "{node(id:1){...on Claim{" + text + "}}}"
}

// pairs are n fields of one name that each spread a fragment of m fields.
func pairs(n, m int) string {
	text := "{" + many(n, "viewer{...A%d}") + "}"
	for i := range n {
		text += fmt.Sprintf("fragment A%d on Viewer{%s}", i, many(m, fmt.Sprintf("x%d_%%d ", i)))
	}
	return text
}
