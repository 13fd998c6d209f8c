package arch

import (
	"fmt"
	"slices"
	"strings"
)

// layer is a part of the tree with its allowed imports.
type layer struct {
	dirs             []string // folder prefixes; the longest match decides
	allowedOwn       []string // prefixes of our folders that it may import in addition to its own
	forbiddenImports []string // prefixes of external import paths that it must not import
	reason           string
}

var (
	databaseLibraries = []string{"database/sql", "github.com/uptrace/bun", "github.com/jackc/pgx"}
	queueLibraries    = []string{"github.com/riverqueue/river"}
	apiLibraries      = []string{"net/http", "github.com/99designs/gqlgen", "github.com/vektah/gqlparser", "github.com/danielgtaylor/huma"}
	oidcLibraries     = []string{"github.com/coreos/go-oidc"}
)

// purePackages are the pure packages of the domain.
var purePackages = []string{
	"model/account", "model/hazard", "model/money", "model/quoting/pricing", "model/quoting/product", "model/hazard/trigger", "model/receipts/receipt", "model/wire",
}

// kernelPackages are the packages that every subdomain uses, without the database.
var kernelPackages = []string{"model/kernel/event", "model/kernel/groupcommit", "model/kernel/apperr", "model/kernel/actor", "model/kernel/seal", "model/kernel/compress", "model/kernel/optional", "model/kernel/pacing", "model/kernel/recordid"}

var layers = []layer{
	{
		dirs: kernelPackages, allowedOwn: slices.Concat(kernelPackages, []string{"model/wire"}),
		forbiddenImports: slices.Concat(databaseLibraries, queueLibraries, apiLibraries, oidcLibraries),
		reason:           "the kernel's values know no database: put what needs it into model/kernel/store",
	},
	{
		dirs: []string{"model/kernel/store", "model/kernel/bulk", "model/kernel/wal", "model/kernel/readcharge", "model/kernel/replica", "model/kernel/rowscan", "model/kernel/dbpool", "model/kernel/optimistic"}, allowedOwn: slices.Concat(kernelPackages, purePackages, []string{"model/dbconn", "model/kernel/bulk", "model/kernel/wal", "model/kernel/readcharge", "model/kernel/replica", "model/kernel/rowscan", "model/kernel/dbpool", "model/kernel/optimistic"}),
		forbiddenImports: slices.Concat(queueLibraries, apiLibraries, oidcLibraries),
		reason:           "the store knows no subdomain: a subdomain gives it a hook or collects rows in the transaction",
	},
	{
		dirs: purePackages, allowedOwn: purePackages,
		forbiddenImports: slices.Concat(databaseLibraries, queueLibraries, apiLibraries, oidcLibraries, []string{"context", "net", "os/exec"}),
		reason:           "a calculation package of the domain is pure, so that tables can test it: take values, return values, and let model do the rest",
	},
	{
		dirs: subdomains, allowedOwn: []string{"model"},
		forbiddenImports: slices.Concat(queueLibraries, apiLibraries, oidcLibraries),
		reason:           "the domain does not depend on its callers: declare a small interface in model and implement it in an adapter",
	},
	{
		dirs: []string{"model"}, allowedOwn: []string{"model"},
		forbiddenImports: slices.Concat(queueLibraries, apiLibraries, oidcLibraries),
		reason:           "the domain does not depend on its callers: declare a small interface in model and implement it in an adapter",
	},
	{
		dirs: []string{"model/modeltest"}, allowedOwn: []string{"model", "migrations", "internal"},
		reason: "test support imports the domain and never the APIs",
	},
	{
		dirs: []string{"rest"}, allowedOwn: []string{"model", "internal", "docs"},
		forbiddenImports: slices.Concat(databaseLibraries, queueLibraries),
		reason:           "an adapter translates: add or call an operation of model, where the transaction begins",
	},
	{
		dirs: []string{"graph"}, allowedOwn: []string{"model", "internal"},
		forbiddenImports: slices.Concat(databaseLibraries, queueLibraries),
		reason:           "an adapter translates: add or call an operation of model, where the transaction begins",
	},
	{
		dirs: []string{"jobs"}, allowedOwn: []string{"model", "internal"},
		reason: "workers call model; what an API needs of them goes through model's Queue",
	},
	{
		dirs: []string{"migrations"}, allowedOwn: []string{"model", "internal"},
		reason: "migrations import neither the APIs nor the workers",
	},
	{
		dirs: []string{"internal"}, allowedOwn: []string{"model", "internal", "migrations"},
		reason: "internal packages import neither the APIs nor the workers: pass in what they need",
	},
	{
		dirs:   []string{"console"},
		reason: "the console is a client of the API in the browser; its server only serves files",
	},
	{
		dirs:   []string{"docs"},
		reason: "the documentation is files; its tests render them",
	},
	{
		dirs: []string{"cmd"}, allowedOwn: []string{"console", "graph", "rest", "jobs", "migrations", "model", "internal"},
		reason: "cmd wires all packages together and nothing imports it",
	},
}

func checkImports(tree *Tree) (broken []string) {
	for _, file := range tree.Files {
		l, name := layerOf(file.Dir())
		if l == nil {
			continue
		}
		for _, spec := range file.AST.Imports {
			if target := importPathOf(spec); !l.mayImport(file, name, target) {
				broken = append(broken, fmt.Sprintf("%s imports %s: %s", file.position(spec), target, l.reason))
			}
		}
	}
	return broken
}

// layerOf returns the layer of a folder and the matching prefix.
func layerOf(dir string) (found *layer, name string) {
	for i := range layers {
		for _, prefix := range layers[i].dirs {
			if isWithin(dir, prefix) && len(prefix) > len(name) {
				found, name = &layers[i], prefix
			}
		}
	}
	return found, name
}

// mayImport reports whether an import is allowed. Tests may import anything external, the
// test support and the internal packages, tests of the domain all of it, but no test a
// sibling layer.
func (l *layer) mayImport(file *File, name, target string) bool {
	dir, ours := strings.CutPrefix(target, Module+"/")
	if !ours {
		return file.Test || !isWithinAny(target, l.forbiddenImports)
	}
	if isWithin(dir, "model/modeltest") {
		return file.Test || name == "cmd" || name == "model/modeltest"
	}
	if file.Test && (isWithin(dir, "internal") || isWithin(dir, "migrations") || isWithin(name, "model") && isWithin(dir, "model")) {
		return true
	}
	return isWithin(dir, name) || isWithinAny(dir, l.allowedOwn)
}

func isWithinAny(path string, prefixes []string) bool {
	return slices.ContainsFunc(prefixes, func(prefix string) bool { return isWithin(path, prefix) })
}

// isWithin reports whether path is prefix or below it.
func isWithin(path, prefix string) bool {
	return path == prefix || strings.HasPrefix(path, prefix+"/")
}

// allowedNames are the entries allowed in the root folder; names that begin with a dot
// and build results are always allowed.
var allowedNames = []string{
	"cmd", "console", "docs", "graph", "internal", "jobs", "migrations", "model", "rest",
	"CHANGELOG.md", "CONTRIBUTING.md", "LICENSE", "Makefile", "README.md", "RUNBOOK.md", "SECURITY.md", "go.mod", "go.sum", "gqlgen.yml",
	"bin", "node_modules", "parapet",
}

func checkTopLevel(tree *Tree) (broken []string) {
	for _, name := range tree.Names {
		if strings.HasPrefix(name, ".") || strings.HasSuffix(name, ".test") || strings.HasSuffix(name, ".out") {
			continue
		}
		if !slices.Contains(allowedNames, name) {
			broken = append(broken, fmt.Sprintf("%s is a new top-level name: put it where it belongs, or give the reason in the commit and add it to allowedNames in internal/arch", name))
		}
	}
	return broken
}
