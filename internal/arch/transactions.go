package arch

import (
	"fmt"
	"go/ast"
	"slices"
	"strings"
)

// transactionTypes are the types whose presence as a parameter means that a function runs
// inside a transaction.
var transactionTypes = []string{"Tx", "store.Tx", "pgx.Conn", "pgx.Tx", "bun.Tx", "bun.Conn"}

// networkTypes are the types whose methods call over the network.
var networkTypes = []string{
	"FileStore", "store.FileStore", "filestore.Store", "http.Client", "rail.Rail", "rail.BatchRail", "rail.Reporter", "Rail", "Reporter", "fetch.Fetcher", "webhook.Sender",
}

// localMethods are the methods of networkTypes that make no network call: identification,
// and the submission of orders over the connection of the transaction.
var localMethods = []string{"Name", "Identity", "Capabilities", "Submit"}

// pureCallbacks are callbacks that only compute, each with its reason.
var pureCallbacks = map[string]string{
	"model/payouts/controls/release_permit.go.statement": "it runs a statement on the session of sends, which is no transaction",
	"model/claims/adjudication/match.go.decide":          "it runs outside transactions and begins its own",
	"model/dbconn/stale_plan.go.read":                    "it runs a statement",
	"model/kernel/store/prepared.go.scan":                "it scans rows",
	"model/kernel/replica/server.go.do":                  "it reads rows of the database",
	"model/kernel/replica/set.go.do":                     "it reads rows of the database",
	"model/events/notifier.go.try":                       "it begins its own transactions",
	"model/insight/progress/shared_read.go.load":         "it reads rows of the database",
	"model/partners/partner_cache.go.load":               "it reads rows of the database",
	"model/events/shared_read.go.read":                   "it reads events of the database",
	"model/hazard/occurrence/feed_poll.go.find":          "it looks for an instant in observations that were read before",
	"model/wire/encode.go.use":                           "it compresses an encoded event",
}

// networkPackages are packages whose functions call over the network.
var networkPackages = []string{"http", "net"}

// checkTransactions forbids network calls inside database transactions: a slow response
// would hold locks, and the relay and the second matching pass wait for every open
// transaction.
func checkTransactions(tree *Tree) (broken []string) {
	layers := map[string]*transactionCheck{}
	for _, file := range tree.Files {
		if file.Test || isWithin(file.Dir(), "model/modeltest") || !isWithin(file.Dir(), "model") && !isWithin(file.Dir(), "jobs") {
			continue
		}
		layer, _, _ := strings.Cut(file.Dir(), "/")
		check := layers[layer]
		if check == nil {
			check = &transactionCheck{functions: map[string][]function{}, transactional: slices.Clone(transactionTypes), network: map[string]bool{}, visited: map[ast.Node]bool{}}
			layers[layer] = check
		}
		check.addFile(file)
	}
	for _, check := range layers {
		broken = append(broken, check.checkAll()...)
	}
	slices.Sort(broken)
	return broken
}

// transactionCheck checks the domain or the workers. It identifies functions by name only,
// so functions and methods of the same name count as one.
type transactionCheck struct {
	functions     map[string][]function
	transactional []string        // transactionTypes and structs that embed one of them
	network       map[string]bool // names of fields of networkTypes
	visited       map[ast.Node]bool
	broken        []string
}

// function is a declared function or a function literal with the parameters that are
// in scope.
type function struct {
	file   *File
	body   *ast.BlockStmt
	params []*ast.Field
}

func (c *transactionCheck) addFile(file *File) {
	ast.Inspect(file.AST, func(n ast.Node) bool {
		if spec, ok := n.(*ast.TypeSpec); ok {
			c.addStruct(spec)
		}
		return true
	})
	for _, decl := range file.functionDecls() {
		if decl.Body == nil {
			continue
		}
		params := slices.Clone(decl.Type.Params.List)
		if decl.Recv != nil {
			params = append(params, decl.Recv.List...)
		}
		c.functions[decl.Name.Name] = append(c.functions[decl.Name.Name], function{file, decl.Body, params})
	}
}

func (c *transactionCheck) addStruct(spec *ast.TypeSpec) {
	structure, ok := spec.Type.(*ast.StructType)
	if !ok {
		return
	}
	for _, field := range structure.Fields.List {
		if len(field.Names) == 0 && slices.Contains(c.transactional, typeName(field.Type)) {
			c.transactional = append(c.transactional, spec.Name.Name)
		}
		if slices.Contains(networkTypes, typeName(field.Type)) {
			for _, name := range field.Names {
				c.network[name.Name] = true
			}
		}
	}
}

// checkAll checks every function that takes a transaction, and the functions it calls.
func (c *transactionCheck) checkAll() []string {
	for _, all := range c.functions {
		for _, f := range all {
			if c.takesTransaction(f.params) {
				c.visitFunction(f)
				continue
			}
			c.findLiterals(f)
		}
	}
	return c.broken
}

// findLiterals visits the function literals that take a transaction.
func (c *transactionCheck) findLiterals(outer function) {
	ast.Inspect(outer.body, func(n ast.Node) bool {
		literal, ok := n.(*ast.FuncLit)
		if !ok {
			return true
		}
		inner := function{outer.file, literal.Body, slices.Concat(outer.params, literal.Type.Params.List)}
		if c.takesTransaction(literal.Type.Params.List) {
			c.visitFunction(inner)
			return false
		}
		c.findLiterals(inner)
		return false
	})
}

func (c *transactionCheck) takesTransaction(params []*ast.Field) bool {
	return slices.ContainsFunc(params, func(p *ast.Field) bool { return slices.Contains(c.transactional, typeName(p.Type)) })
}

// visitFunction checks a function that runs inside a transaction.
func (c *transactionCheck) visitFunction(f function) {
	if c.visited[f.body] {
		return
	}
	c.visited[f.body] = true
	ast.Inspect(f.body, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		if c.isNetwork(f, call) {
			c.broken = append(c.broken, fmt.Sprintf("%s: a network call inside a database transaction: read before the transaction begins, or record the intent and call after the commit", f.file.position(call)))
		}
		for _, callee := range c.functions[calledName(call)] {
			c.visitFunction(callee)
		}
		return true
	})
}

// isNetwork reports whether a call leaves the process: through a client, or through a
// callback that may fail and does not receive the transaction.
func (c *transactionCheck) isNetwork(f function, call *ast.CallExpr) bool {
	switch fun := call.Fun.(type) {
	case *ast.Ident:
		param := paramNamed(f.params, fun.Name)
		callback, ok := param.(*ast.FuncType)
		return ok && returnsError(callback) && !c.takesTransaction(callback.Params.List) && pureCallbacks[f.file.Path+"."+fun.Name] == ""
	case *ast.SelectorExpr:
		if slices.Contains(localMethods, fun.Sel.Name) {
			return false
		}
		switch on := fun.X.(type) {
		case *ast.SelectorExpr:
			return c.network[on.Sel.Name]
		case *ast.Ident:
			param := paramNamed(f.params, on.Name)
			if param == nil {
				return slices.Contains(networkPackages, on.Name)
			}
			return slices.Contains(networkTypes, typeName(param)) && len(c.functions[fun.Sel.Name]) == 0 // otherwise it is visited
		}
	}
	return false
}

func paramNamed(params []*ast.Field, name string) ast.Expr {
	for _, field := range params {
		if slices.ContainsFunc(field.Names, func(n *ast.Ident) bool { return n.Name == name }) {
			return field.Type
		}
	}
	return nil
}

func returnsError(f *ast.FuncType) bool {
	return f.Results != nil && slices.ContainsFunc(f.Results.List, func(r *ast.Field) bool { return typeName(r.Type) == "error" })
}

// calledName returns the last name of the called function.
func calledName(call *ast.CallExpr) string {
	name := typeName(call.Fun)
	return name[strings.LastIndex(name, ".")+1:]
}

// typeName returns a type as written, without pointers and type arguments.
func typeName(expr ast.Expr) string {
	switch e := expr.(type) {
	case *ast.StarExpr:
		return typeName(e.X)
	case *ast.IndexExpr:
		return typeName(e.X)
	case *ast.IndexListExpr:
		return typeName(e.X)
	case *ast.ParenExpr:
		return typeName(e.X)
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		if on, ok := e.X.(*ast.Ident); ok {
			return on.Name + "." + e.Sel.Name
		}
		return "." + e.Sel.Name
	default:
		return ""
	}
}
