package arch_test

import (
	"os"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"parapet/internal/arch"
)

func TestTreeFollowsTheRules(t *testing.T) {
	t.Parallel()
	tree, err := arch.Load(os.DirFS("../.."))
	require.NoError(t, err)
	require.NotEmpty(t, tree.Files)
	for _, rule := range arch.Rules() {
		t.Run(rule.Name, func(t *testing.T) {
			t.Parallel()
			for _, broken := range rule.Check(tree) {
				t.Error(broken)
			}
		})
	}
}

// ruleExample is a source file that follows or violates one rule.
type ruleExample struct {
	rule, path, source string
	breaks             string // a part of the message, empty when the rule is followed
}

var examples = []ruleExample{
	{"top level", "utilities/x.go", "package x", "utilities is a new top-level name"},
	{"top level", "go.work", "", "go.work"},
	{"top level", "rest/x.go", "package rest", ""},
	{"top level", ".ci/run", "", ""},

	{"imports", "model/money/x.go", `package money; import "context"`, "imports context: a calculation package"},
	{"imports", "model/hazard/x.go", `package hazard; import "database/sql"`, "a calculation package"},
	{"imports", "model/wire/x.go", `package wire; import "parapet/model"`, "a calculation package"},
	{"imports", "model/wire/x.go", `package wire; import "parapet/model/hazard/trigger"`, ""},
	{"imports", "model/kernel/actor/x.go", `package actor; import "github.com/uptrace/bun"`, "know no database"},
	{"imports", "model/kernel/actor/x.go", `package actor; import "parapet/model/kernel/apperr"`, ""},
	{"imports", "model/kernel/apperr/x.go", `package apperr; import "parapet/model/kernel/store"`, "know no database"},
	{"imports", "model/kernel/store/x.go", `package store; import "parapet/model"`, "knows no subdomain"},
	{"imports", "model/kernel/store/x.go", `package store; import "parapet/model/kernel/actor"`, ""},
	{"order", "model/claims/x.go", `package claims; import "parapet/model/claims/adjudication"`, "a higher subdomain"},
	{"order", "model/claims/x.go", `package claims; import "parapet/model/underwriting"`, ""},
	{"order", "model/claims/x.go", `package claims; import "parapet/model/underwriting"; var _ underwriting.Service`, "uses the operations of"},
	{"order", "model/claims/x.go", `package claims; import "parapet/model/underwriting"; var _ underwriting.PolicyRow`, ""},
	{"subdomains", "model/sales/x.go", "package sales; type Service struct{}", "no place in the order"},
	{"subdomains", "model/claims/x.go", "package claims; type Service struct{}", ""},
	{"package size", "model/claims/x.go", "package claims" + strings.Repeat("\n", 3001), "3001 lines, over 3000"},
	{"package size", "model/claims/x.go", "package claims" + strings.Repeat("\n", 3000), ""},
	{"imports", "model/claims/x.go", `package claims; import "net/http"`, "depend on its callers"},
	{"imports", "model/x.go", `package model; import "net/http"`, "depend on its callers"},
	{"imports", "model/x.go", `package model; import "github.com/riverqueue/river/rivertype"`, "depend on its callers"},
	{"imports", "model/internal/rules/x.go", `package rules; import "parapet/rest"`, "depend on its callers"},
	{"imports", "model/x.go", `package model; import "github.com/uptrace/bun"`, ""},
	{"imports", "model/x.go", `package model; import "parapet/model/modeltest"`, "depend on its callers"},
	{"imports", "model/x_test.go", `package model; import "parapet/model/modeltest"`, ""},
	{"imports", "rest/x.go", `package rest; import "github.com/jackc/pgx/v5/pgconn"`, "an adapter translates"},
	{"imports", "graph/x.go", `package graph; import "parapet/rest"`, "an adapter translates"},
	{"imports", "graph/x_test.go", `package graph; import "parapet/jobs/rail"`, "an adapter translates"},
	{"imports", "jobs/rail/x.go", `package rail; import "parapet/graph"`, "workers call model"},
	{"imports", "jobs/rail/x.go", `package rail; import "parapet/jobs/feed"`, ""},
	{"imports", "internal/auth/x.go", `package auth; import "parapet/cmd/parapet"`, "internal packages import neither"},
	{"imports", "migrations/x.go", `package migrations; import "parapet/jobs"`, "migrations import neither"},
	{"imports", "cmd/parapet/x.go", `package main; import "parapet/graph"`, ""},

	{"package comment", "rest/x.go", "package rest", "rest has no package comment"},
	{"package comment", "rest/x.go", "// Package rest answers.\npackage rest", ""},
	{"package comment", "rest/x_test.go", "package rest", ""},

	{"documented", "rest/x.go", "package rest\nfunc Open() {}", "Open is exported"},
	{"documented", "rest/x.go", "package rest\n// T is.\ntype T[K any] struct{}\nfunc (*T[K]) Open() {}", "Open is exported"},
	{"documented", "rest/x.go", "package rest\ntype t struct{}\nfunc (t) Open() {}", ""},
	{"documented", "rest/x.go", "package rest\n// Types.\ntype (\nA int\nB int\n)", "A is exported"},
	{"documented", "rest/x.go", "package rest\nconst Limit, more = 1, 2", "Limit is exported"},
	{"documented", "rest/x.go", "package rest\n// Limits.\nconst (\nA = 1\nB = 2\n)\nvar C = 3 // of it", ""},
	{"documented", "rest/x.go", "// Code generated by hand. DO NOT EDIT.\npackage rest\nfunc Open() {}", ""},

	{"length", "rest/x.go", "package rest" + strings.Repeat("\n", 301), "has 301 lines"},
	{"length", "rest/x_test.go", "package rest" + strings.Repeat("\n", 301), ""},
	{"length", "rest/x_test.go", "package rest" + strings.Repeat("\n", 501), "has 501 lines"},
	{"length", "rest/x.go", "package rest\nfunc f() {" + strings.Repeat("\n", 60) + "}", "f has 61 lines"},
	{"length", "rest/x_test.go", "package rest\nfunc f() {" + strings.Repeat("\n", 80) + "}", "f has 81 lines"},

	{"clock", "rest/x.go", `package rest; import "time"; var t = time.Now()`, "time.Now"},
	{"clock", "rest/x.go", `package rest; import c "time"; var f = c.Since`, "time.Since"},
	{"clock", "rest/x.go", `package rest; var time struct{ Now func() }; func f() { time.Now() }`, ""},
	{"clock", "cmd/parapet/x.go", `package main; import "time"; var t = time.Now()`, ""},
	{"clock", "internal/devissuer/x.go", `package devissuer; import "time"; var t = time.Now()`, ""},
	{"clock", "internal/devissuer/x.go", `package devissuer`, "reads no clock any more"},

	{"stubs", "graph/claim.resolvers.go", `package graph; func f() { panic("x") }`, "is a stub"},
	{"stubs", "graph/node/x.go", `package node; func f() error { return errors.New("x is not implemented") }`, "is a stub"},
	{"stubs", "rest/x.go", `package rest; func f() { panic(fmt.Errorf("not implemented: f")) }`, "is a stub"},
	{"stubs", "graph/limits.go", `package graph; func f() { panic(err) }`, ""},
	{"stubs", "graph/claim_test.go", `package graph; const text = "not implemented"`, ""},

	{"sleep", "rest/x_test.go", `package rest; import "time"; func f() { time.Sleep(1) }`, "time.Sleep"},
	{"sleep", "rest/x.go", `package rest; import "time"; func f() { time.Sleep(1) }`, ""},

	{"require", "rest/x_test.go", `package rest; import "github.com/stretchr/testify/assert"`, "testify/assert"},
	{"require", "rest/x_test.go", `package rest; import "github.com/stretchr/testify/require"`, ""},

	{"parallel", "rest/x_test.go", `package rest; func TestA(t *testing.T) { t.Run("x", func(t *testing.T) { t.Parallel() }) }`, "TestA does not call"},
	{"parallel", "rest/x_test.go", `package rest; func TestA(t *testing.T) { other.Parallel() }`, "TestA does not call"},
	{"parallel", "rest/x_test.go", `package rest; func TestA(t *testing.T) { t.Parallel() }`, ""},
	{"parallel", "rest/x_test.go", `package rest; func TestA(t *testing.T) { t.Setenv("A", "b") }`, ""},
	{"parallel", "rest/x_test.go", `package rest; func TestMain(m *testing.M) { m.Run() }`, ""},

	{"names", "model/util/x.go", "package util", "model/util is called util"},
	{"names", "model/http_helpers.go", "package model", "called helpers"},
	{"names", "model/x.go", "package model; type ClaimManager int", "called manager"},
	{"names", "model/x.go", "package model; func commonName() {}", "called common"},
	{"names", "model/x.go", "package model; func uncommon() { t.Helper() }", ""},

	{"words", "model/x.go", "package model\n// Anew it begins.\ntype t int", "\"Anew\" is no technical term"},
	{"words", "model/x.go", "package model; func openDesk() {}", "\"Desk\" is no technical term"},
	{"words", "model/x.go", "package model\n// Renewal begins again.\ntype deskTop2 int", "\"desk\""},
	{"words", "model/x.go", "package model\n// merely and award contain refused words.\nfunc forward() {}", ""},
	{"one-word names", "model/x.go", "package model; func a() {}; func loadB() {}; func saveC() {}", "1 of 3 unexported functions"},
	{"one-word names", "model/x.go", "package model; func a() {}; func loadB() {}; func saveC() {}; func openD() {}; func Do() {}", ""},
	{"one-word names", "model/x_test.go", "package model; func a() {}", ""},

	{"transactions", "model/x.go", "package model; type S struct { files FileStore }; func (s *S) f(tx *Tx) { s.files.Put() }", "network call inside"},
	{"transactions", "model/x.go", "package model; type S struct { files FileStore }; func (s *S) f() { s.change(func(tx *Tx) error { return s.g() }) }; func (s *S) g() error { return s.files.Delete() }", "network call inside"},
	{"transactions", "model/x.go", "package model; type S struct { files FileStore }; func (s *S) f() { s.files.Put(); s.change(func(tx *Tx) error { return nil }) }", ""},
	{"transactions", "model/x.go", "package model; func f(read func() error) { change(func(tx *Tx) error { return read() }) }", "network call inside"},
	{"transactions", "model/x.go", "package model; type t struct { *Tx }; func f(read func() error) { change(func(tx *Tx) error { return t{tx}.g(read) }) }; func (t) g(read func() error) error { return read() }", "network call inside"},
	{"transactions", "model/x.go", "package model; func f(read func() error) { read(); change(func(tx *Tx) error { return nil }) }", ""},
	{"transactions", "model/x.go", "package model; func f(do func(*Tx) error, tx *Tx) { do(tx) }", ""},
	{"transactions", "jobs/x.go", `package jobs; import "parapet/jobs/rail"; func f(to rail.BatchRail) { g(func(c *pgx.Conn) { to.Send() }) }`, "network call inside"},
	{"transactions", "jobs/x.go", `package jobs; import "parapet/jobs/rail"; func f(to rail.BatchRail) { g(func(c *pgx.Conn) { to.Submit(c); to.Name() }) }`, ""},
	{"transactions", "jobs/rail/x.go", "package rail; type R struct { Store FileStore }; func (r *R) Submit(c *pgx.Conn) { r.write() }; func (r *R) write() { r.Store.Put() }", "network call inside"},
	{"transactions", "jobs/x.go", `package jobs; import "net/http"; func f(tx pgx.Tx) { http.Get("") }`, "network call inside"},

	{"perils", "model/claims/x.go", `package claims; import "parapet/model/hazard/trigger"; func f(p P) bool { return p == trigger.Hail }`, "compares with Hail"},
	{"perils", "model/claims/x.go", `package claims; import t "parapet/model/hazard/trigger"; func f(p P) { switch p { case t.Hail: } }`, "which model/hazard/trigger/hail.go has"},
	{"perils", "model/hazard/trigger/x.go", `package trigger; func f(p P) bool { return p != Hail }`, "compares with Hail"},
	{"perils", "rest/x.go", `package rest; import "parapet/model/hazard"; func f(k K) bool { return hazard.HailReport == k }`, "compares with HailReport"},
	{"perils", "model/claims/x.go", `package claims; import "parapet/model/hazard/trigger"; func f(p P) bool { return p == trigger.Circle }`, ""},
	{"perils", "model/claims/x.go", `package claims; import "parapet/model/hazard/trigger"; var f = trigger.Hail`, ""},
	{"perils", "model/claims/x_test.go", `package claims; import "parapet/model/hazard/trigger"; func f(p P) bool { return p == trigger.Hail }`, ""},
	{"perils", "model/claims/x.go", `package claims; func f(p P) bool { return p == Hail }`, ""},
}

// perilFiles declare a peril and a kind of observation for the examples of perils; a file
// may compare with its own.
var perilFiles = map[string]string{
	"model/hazard/trigger/hail.go": `package trigger; import "parapet/model/hazard"; const Hail hazard.Peril = "hail"; func f(p P) bool { return p == Hail }`,
	"model/hazard/kind_hail.go":    `package hazard; const HailReport Kind = "hail_report"`,
}

func TestEveryRuleCanFail(t *testing.T) {
	t.Parallel()
	failing := map[string]bool{}
	for _, e := range examples {
		failing[e.rule] = failing[e.rule] || e.breaks != ""
	}
	for _, rule := range arch.Rules() {
		require.True(t, failing[rule.Name], "no example breaks the rule %q", rule.Name)
	}
}

func TestRulesReportTheirExamples(t *testing.T) {
	t.Parallel()
	for _, e := range examples {
		t.Run(e.rule+" "+e.path, func(t *testing.T) {
			t.Parallel()
			files := fstest.MapFS{e.path: {Data: []byte(e.source)}}
			for path, source := range perilFiles {
				if e.rule == "perils" {
					files[path] = &fstest.MapFile{Data: []byte(source)}
				}
			}
			tree, err := arch.Load(files)
			require.NoError(t, err)
			var broken []string
			for _, rule := range arch.Rules() {
				if rule.Name == e.rule {
					broken = rule.Check(tree)
				}
			}
			if e.breaks == "" {
				require.Empty(t, broken)
				return
			}
			require.NotEmpty(t, broken, e.source)
			require.Contains(t, broken[0], e.breaks)
		})
	}
}

func TestLoadSkipsNestedModulesAndFailsOnBrokenSource(t *testing.T) {
	t.Parallel()
	tree, err := arch.Load(fstest.MapFS{
		"internal/tools/go.mod": {}, "internal/tools/x.go": {Data: []byte("package x")},
		"rest/testdata/x.go": {Data: []byte("no go")}, ".git/x.go": {Data: []byte("no go")},
	})
	require.NoError(t, err)
	require.Empty(t, tree.Files)
	_, err = arch.Load(fstest.MapFS{"rest/x.go": {Data: []byte("no go")}})
	require.ErrorContains(t, err, "rest/x.go")
}
