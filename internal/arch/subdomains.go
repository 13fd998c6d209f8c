package arch

import (
	"fmt"
	"go/ast"
	"path"
	"slices"
	"strings"
)

// subdomains are the packages of the domain with operations, from low to high. A package
// imports only those before it.
var subdomains = []string{
	"model/audit",
	"model/partners",
	"model/events",
	"model/events/webhooks",
	"model/ledger",
	"model/hazard/sources",
	"model/quoting/catalog",
	"model/underwriting/capacity",
	"model/quoting",
	"model/underwriting",
	"model/hazard/summary",
	"model/hazard/occurrence",
	"model/hazard/reports",
	"model/claims",
	"model/claims/measured",
	"model/claims/candidates",
	"model/claims/watches",
	"model/claims/matching",
	"model/payouts",
	"model/payouts/controls",
	"model/payouts/release",
	"model/payouts/reconciliation",
	"model/claims/adjudication",
	"model/claims/challenge",
	"model/receipts",
	"model/insight/progress",
	"model/insight/scenario",
	"model/insight/portfolio",
	"model/sandbox",
	"model/operations/privacy",
	"model/operations",
}

// These constants limit a package of the domain; tests do not count.
const (
	maxPackageFiles = 25
	maxPackageLines = 3000
)

// checkOrder keeps the subdomains free of cycles and independent of one another's
// operations: an operation begins a transaction, and a transaction must not begin another.
func checkOrder(tree *Tree) (broken []string) {
	for _, file := range tree.Files {
		rank := slices.Index(subdomains, file.Dir())
		if file.Test || rank < 0 {
			continue
		}
		for _, spec := range file.AST.Imports {
			imported := importPathOf(spec)
			other := slices.Index(subdomains, strings.TrimPrefix(imported, Module+"/"))
			if other < 0 {
				continue
			}
			if other > rank {
				broken = append(broken, fmt.Sprintf("%s imports %s, a higher subdomain: move the declaration down, or let model.New pass a callback", file.position(spec), imported))
			}
			for _, use := range file.findCalls(file.AST, imported, "Service", "New") {
				broken = append(broken, fmt.Sprintf("%s uses the operations of %s: call a function that takes the transaction", file.position(use), imported))
			}
		}
	}
	return broken
}

// checkSubdomains requires a place in the order for every package of the domain that has
// operations.
func checkSubdomains(tree *Tree) (broken []string) {
	for _, file := range tree.Files {
		dir := file.Dir()
		if file.Test || !isWithin(dir, "model") || dir == "model" || slices.Contains(subdomains, dir) {
			continue
		}
		for _, decl := range file.AST.Decls {
			if group, ok := decl.(*ast.GenDecl); ok && declaresService(group) {
				broken = append(broken, fmt.Sprintf("%s: %s has operations and no place in the order: add it to subdomains in internal/arch", file.position(group), dir))
			}
		}
	}
	return broken
}

func declaresService(group *ast.GenDecl) bool {
	return slices.ContainsFunc(group.Specs, func(spec ast.Spec) bool {
		named, ok := spec.(*ast.TypeSpec)
		return ok && named.Name.Name == "Service"
	})
}

// checkPackageSizes limits the packages of the domain, so that a reader can survey one.
func checkPackageSizes(tree *Tree) (broken []string) {
	files, lines := map[string]int{}, map[string]int{}
	for _, file := range tree.Files {
		if dir := path.Dir(file.Path); !file.Test && isWithin(dir, "model") {
			files[dir]++
			lines[dir] += file.Lines
		}
	}
	for dir := range files {
		if files[dir] > maxPackageFiles {
			broken = append(broken, fmt.Sprintf("%s has %d files, over %d: divide the package by what it is responsible for", dir, files[dir], maxPackageFiles))
		}
		if lines[dir] > maxPackageLines {
			broken = append(broken, fmt.Sprintf("%s has %d lines, over %d: divide the package by what it is responsible for", dir, lines[dir], maxPackageLines))
		}
	}
	slices.Sort(broken)
	return broken
}
