package arch

import (
	"fmt"
	"slices"
	"strings"
)

// layer is a part of the tree and what it may know.
type layer struct {
	dirs   []string // prefixes of folders; the longest that fits decides
	ours   []string // prefixes of our folders it may import besides its own
	never  []string // prefixes of foreign import paths it must not know
	reason string
}

var (
	database = []string{"database/sql", "github.com/uptrace/bun", "github.com/jackc/pgx"}
	queue    = []string{"github.com/riverqueue/river"}
	doors    = []string{"net/http", "github.com/99designs/gqlgen", "github.com/vektah/gqlparser", "github.com/danielgtaylor/huma"}
	oidc     = []string{"github.com/coreos/go-oidc"}
)

// leaves are the pure packages of the domain.
var leaves = []string{
	"model/account", "model/hazard", "model/money", "model/pricing", "model/product", "model/trigger", "model/wire",
}

var layers = []layer{
	{
		dirs: leaves, ours: leaves,
		never:  slices.Concat(database, queue, doors, oidc, []string{"context", "net", "os/exec"}),
		reason: "a leaf of the domain is pure, so that it can be tested by tables: take values, return values, and let model do the rest",
	},
	{
		dirs: []string{"model"}, ours: []string{"model"},
		never:  slices.Concat(queue, doors, oidc),
		reason: "the domain does not know through which door a request came: declare a small interface in model and let an adapter fill it",
	},
	{
		dirs: []string{"model/modeltest"}, ours: []string{"model", "migrations", "internal"},
		reason: "test support stands beside the domain and below the doors",
	},
	{
		dirs: []string{"rest"}, ours: []string{"model", "internal"},
		never:  slices.Concat(database, queue),
		reason: "an adapter translates: add or call an operation of model, where the transaction begins",
	},
	{
		dirs: []string{"graph"}, ours: []string{"model", "internal"},
		never:  slices.Concat(database, queue),
		reason: "an adapter translates: add or call an operation of model, where the transaction begins",
	},
	{
		dirs: []string{"jobs"}, ours: []string{"model", "internal"},
		reason: "workers call model; what a door needs of them goes through model's Queue",
	},
	{
		dirs: []string{"migrations"}, ours: []string{"model", "internal"},
		reason: "migrations stand below the doors and the workers",
	},
	{
		dirs: []string{"internal"}, ours: []string{"model", "internal", "migrations"},
		reason: "plumbing stands below the doors and the workers: hand in what it needs",
	},
	{
		dirs: []string{"cmd"}, ours: []string{"graph", "rest", "jobs", "migrations", "model", "internal"},
		reason: "cmd ties everything and is imported by nobody",
	},
}

func imports(tree *Tree) (broken []string) {
	for _, file := range tree.Files {
		l, name := layerOf(file.Dir())
		if l == nil {
			continue
		}
		for _, spec := range file.AST.Imports {
			if target := imported(spec); !l.mayImport(file, name, target) {
				broken = append(broken, fmt.Sprintf("%s imports %s: %s", file.at(spec), target, l.reason))
			}
		}
	}
	return broken
}

// layerOf finds the layer of a folder and the prefix by which it was found.
func layerOf(dir string) (found *layer, name string) {
	for i := range layers {
		for _, prefix := range layers[i].dirs {
			if within(dir, prefix) && len(prefix) > len(name) {
				found, name = &layers[i], prefix
			}
		}
	}
	return found, name
}

// mayImport judges one import. Tests may use anything foreign, the test support
// and the plumbing, but no sibling either.
func (l *layer) mayImport(file *File, name, target string) bool {
	dir, ours := strings.CutPrefix(target, Module+"/")
	if !ours {
		return file.Test || !anyPrefix(target, l.never)
	}
	if within(dir, "model/modeltest") {
		return file.Test || name == "cmd" || name == "model/modeltest"
	}
	if file.Test && (within(dir, "internal") || within(dir, "migrations")) {
		return true
	}
	return within(dir, name) || anyPrefix(dir, l.ours)
}

func anyPrefix(path string, prefixes []string) bool {
	return slices.ContainsFunc(prefixes, func(prefix string) bool { return within(path, prefix) })
}

// within tells whether path is prefix or lies under it.
func within(path, prefix string) bool {
	return path == prefix || strings.HasPrefix(path, prefix+"/")
}

// allowedNames are the names of the first listing a stranger sees; names that
// begin with a dot and what a build leaves behind are free.
var allowedNames = []string{
	"cmd", "graph", "internal", "jobs", "migrations", "model", "rest",
	"Makefile", "README.md", "RUNBOOK.md", "go.mod", "go.sum", "gqlgen.yml",
	"bin", "node_modules", "parapet",
}

func topLevel(tree *Tree) (broken []string) {
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
