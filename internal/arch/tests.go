package arch

import (
	"fmt"
	"go/ast"
	"maps"
	"slices"
	"strings"
)

// clockReaders are the only files and packages that may read the clock, each with its
// reason.
var clockReaders = map[string]string{
	"internal/auth":                   "a token's time is judged by the clock of the server that reads it; tests hand in another",
	"internal/devissuer":              "development tokens are issued now",
	"internal/devpg":                  "waiting for a starting server has a deadline",
	"internal/meter":                  "a benchmark measures a duration",
	"jobs/heartbeat.go":               "a rail reports days of the world's calendar",
	"jobs/release_payout.go":          "the age of an order right before it is sent: a worker that was suspended must not send an old one",
	"jobs/workers.go":                 "how long a job took, for its line in the log",
	"model/dbconn":                    "how long a server has not answered, measured where it is waited for",
	"model/kernel/optimistic":         "how long ago a clock was read, by which a transaction assumes the present one; the database checks it",
	"model/kernel/pacing":             "how many requests a process answers in a second",
	"model/kernel/replica":            "the age of what a replica shows, measured by one clock; business time stays with the database",
	"rest/timeouts.go":                "a connection's deadlines are on the machine's clock",
	"model/partners/partner_cache.go": "the age of a cached answer; business time stays with the database",
}

// checkClock keeps business time in the database, so that rules can be tested at any
// instant.
func checkClock(tree *Tree) (broken []string) {
	used := map[string]bool{}
	present := map[string]bool{}
	for _, file := range tree.Files {
		if file.Test || isWithin(file.Dir(), "cmd") {
			continue
		}
		reader := clockReader(file.Path)
		present[reader] = true
		for _, call := range file.findCalls(file.AST, "time", "Now", "Since", "Until") {
			used[reader] = true
			if reader == "" {
				broken = append(broken, fmt.Sprintf("%s: time.%s: take the instant from the unit of work or as an argument; where the machine's clock is right, add the place and the reason to clockReaders in internal/arch", file.position(call), call.Sel.Name))
			}
		}
	}
	for _, reader := range slices.Sorted(maps.Keys(clockReaders)) {
		if present[reader] && !used[reader] {
			broken = append(broken, reader+" reads no clock any more: take it out of clockReaders in internal/arch")
		}
	}
	return broken
}

func clockReader(path string) string {
	for reader := range clockReaders {
		if isWithin(path, reader) {
			return reader
		}
	}
	return ""
}

func checkSleep(tree *Tree) (broken []string) {
	for _, file := range tree.Files {
		if !file.Test {
			continue
		}
		for _, call := range file.findCalls(file.AST, "time", "Sleep") {
			broken = append(broken, file.position(call)+": time.Sleep: wait for the thing itself (a channel, a row, a log line) or hand in a clock; a sleep is too short on a slow day and too long on every other")
		}
	}
	return broken
}

func checkTestify(tree *Tree) (broken []string) {
	const testify = "github.com/stretchr/testify/"
	for _, file := range tree.Files {
		for _, spec := range file.AST.Imports {
			if part, found := strings.CutPrefix(importPathOf(spec), testify); found && part != "require" {
				broken = append(broken, fmt.Sprintf("%s: testify/%s: use require; a test that goes on after its first surprise reports noise, and the domain is not mocked", file.position(spec), part))
			}
		}
	}
	return broken
}

// serialTests are the tests that cannot run in parallel with others, each with its
// reason.
var serialTests = map[string]string{
	"graph.TestNoDocumentAllocatesMoreThan16MiB":            "it measures what the process allocates",
	"graph.TestRelationsOfTheDashboardAreCalledDirectly":    "it replaces what the handlers of other tests call",
	"internal/egress.TestProxiesOfTheEnvironmentAreIgnored": "it sets the process's environment",
}

func checkParallel(tree *Tree) (broken []string) {
	for _, file := range tree.Files {
		if !file.Test {
			continue
		}
		for _, function := range file.functionDecls() {
			name := file.Dir() + "." + function.Name.Name
			if !isTest(function) || callsMethod(function, "Parallel", "Setenv", "Chdir") {
				continue
			}
			if _, excepted := serialTests[name]; !excepted {
				broken = append(broken, fmt.Sprintf("%s: %s does not call t.Parallel(): give it its own partner or database, or add it and the reason to serial in internal/arch", file.position(function), function.Name.Name))
			}
		}
	}
	return broken
}

func isTest(function *ast.FuncDecl) bool {
	name, found := strings.CutPrefix(function.Name.Name, "Test")
	return found && name != "Main" && function.Recv == nil && len(function.Type.Params.List) == 1
}

// callsMethod reports whether a test calls one of the methods on its own t. Setenv and
// Chdir change the whole process; the testing package itself rejects them in parallel
// tests.
func callsMethod(function *ast.FuncDecl, names ...string) (found bool) {
	own := ""
	if params := function.Type.Params.List[0].Names; len(params) > 0 {
		own = params[0].Name
	}
	for _, statement := range function.Body.List {
		expression, ok := statement.(*ast.ExprStmt)
		if !ok {
			continue
		}
		call, ok := expression.X.(*ast.CallExpr)
		if !ok {
			continue
		}
		if selector, ok := call.Fun.(*ast.SelectorExpr); ok && slices.Contains(names, selector.Sel.Name) {
			receiver, ok := selector.X.(*ast.Ident)
			found = found || ok && receiver.Name == own
		}
	}
	return found
}
