package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/vektah/gqlparser/v2/ast"

	"parapet/model/kernel/actor"
	"parapet/model/kernel/apperr"
)

// operationTimeout limits an operation; the server times out after 30 s, and stops
// waiting for payouts in flight after a minute.
const operationTimeout = 90 * time.Second

// runOps calls one operation of a running server and prints its response as JSON.
func runOps(ctx context.Context, args []string, out io.Writer) error {
	all := operatorVerbs()
	if len(args) == 0 || args[0] == "help" || args[0] == "-h" || args[0] == "--help" {
		return printVerbs(out, all)
	}
	v, known := all[args[0]]
	if !known {
		return fmt.Errorf("there is no verb %q; parapet ops help lists them", args[0])
	}
	call := &opsCall{operatorVerb: v, values: map[string]any{}, tokenSource: tokenSource{scope: actor.ScopeOperator}}
	set := call.newFlagSet(args[0])
	if err := parseFlags(set, args[1:]); err != nil {
		return err
	}
	if missing := v.missingFlags(call.values); len(missing) > 0 {
		return fmt.Errorf("%s needs %s; parapet ops %s --help describes them", args[0], strings.Join(missing, ", "), args[0])
	}
	return call.sendOperation(ctx, out)
}

func printVerbs(out io.Writer, all map[string]operatorVerb) error {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(table, "parapet ops VERB --server URL --token TOKEN [flags]; parapet ops VERB --help lists its flags.")
	for _, keyword := range []string{"mutation", "query"} {
		_, _ = fmt.Fprintln(table)
		for _, name := range slices.Sorted(maps.Keys(all)) {
			if v := all[name]; v.keyword == keyword {
				_, _ = fmt.Fprintf(table, "  %s\t%s\n", name, firstSentence(v.field.Description))
			}
		}
	}
	return table.Flush()
}

func firstSentence(text string) string {
	sentence, _, _ := strings.Cut(strings.Join(strings.Fields(text), " "), ". ")
	return strings.TrimSuffix(sentence, ".")
}

// opsCall is one call from the command line.
type opsCall struct {
	operatorVerb
	tokenSource

	values    map[string]any
	selection string
}

func (c *opsCall) newFlagSet(name string) *flag.FlagSet {
	set := newFlagSet("ops " + name)
	set.StringVar(&c.server, "server", "", "origin of the server, https://api.example.com; PARAPET_SERVER")
	c.addFlags(set)
	set.StringVar(&c.selection, "select", "", "the fields of the answer to print, as GraphQL: '{ claim { id status } }'")
	for _, member := range c.inputMembers() {
		set.Func(kebabCase(member.Name), c.typeHelp(member.Type)+". "+strings.Join(strings.Fields(member.Description), " "), func(text string) error {
			value, err := c.parseValue(member.Type, text)
			c.values[member.Name] = value
			return err
		})
	}
	return set
}

// buildDocument returns the GraphQL document with all arguments as variables.
func (c *opsCall) buildDocument() string {
	var names, uses []string
	for _, argument := range c.field.Arguments {
		if _, given := c.values[argument.Name]; given || argument.Name == "input" {
			names = append(names, "$"+argument.Name+": "+argument.Type.String())
			uses = append(uses, argument.Name+": $"+argument.Name)
		}
	}
	head, arguments := c.keyword, ""
	if len(names) > 0 {
		head, arguments = head+"("+strings.Join(names, ", ")+")", "("+strings.Join(uses, ", ")+")"
	}
	selection := c.selection
	if selection == "" {
		selection = c.buildSelection(c.schema.Types[c.field.Type.Name()], 3)
	}
	return head + " { " + c.field.Name + arguments + " " + selection + " }"
}

// buildSelection selects all fields of a type without required arguments, some levels
// deep; of a connection it selects the nodes once.
func (c *opsCall) buildSelection(def *ast.Definition, depth int) string {
	if def.Kind != ast.Object && def.Kind != ast.Interface {
		return ""
	}
	var parts []string
	for _, field := range def.Fields {
		child := c.schema.Types[field.Type.Name()]
		leaf := child.Kind == ast.Scalar || child.Kind == ast.Enum
		page := strings.HasSuffix(child.Name, "Connection")
		if strings.HasPrefix(field.Name, "__") || field.Name == "edges" || len(field.Arguments) > 0 || page || !leaf && depth == 1 {
			continue
		}
		if inner := c.buildSelection(child, depth-1); leaf || inner != "" {
			parts = append(parts, strings.TrimSpace(field.Name+" "+inner))
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return "{ " + strings.Join(parts, " ") + " }"
}

func (c *opsCall) sendOperation(ctx context.Context, out io.Writer) error {
	server := strings.TrimSuffix(cmp.Or(c.server, os.Getenv("PARAPET_SERVER")), "/")
	if origin, err := url.Parse(server); err != nil || origin.Host == "" {
		return errors.New("name the server by --server, such as https://api.example.com")
	}
	if err := c.configure(server, &http.Client{Timeout: operationTimeout}); err != nil {
		return err
	}
	token, err := c.getToken(ctx)
	if err != nil {
		return err
	}
	variables := c.values
	if c.field.Arguments.ForName("input") != nil {
		variables = map[string]any{"input": c.values}
	}
	body, err := json.Marshal(map[string]any{"query": c.buildDocument(), "variables": variables})
	if err != nil {
		return err
	}
	answer, err := sendRequest(ctx, c.client, http.MethodPost, c.server+"/graphql", token, body)
	status := http.StatusOK
	if refused := new(statusError); errors.As(err, &refused) {
		status = refused.status // its body is a GraphQL response too
	} else if err != nil {
		return err
	}
	return c.printAnswer(status, answer, out)
}

func (c *opsCall) printAnswer(status int, answer []byte, out io.Writer) error {
	var said struct {
		Data   map[string]jsontext.Value `json:"data"`
		Errors []struct {
			Message    string `json:"message"`
			Extensions struct {
				Code      string              `json:"code"`
				RequestID string              `json:"request_id"`
				Errors    []apperr.FieldError `json:"errors"`
			} `json:"extensions"`
		} `json:"errors"`
	}
	if err := json.Unmarshal(answer, &said); err != nil || len(said.Data) == 0 && len(said.Errors) == 0 {
		return fmt.Errorf("%s answers %d %s, and not as GraphQL does: is it the server's origin?", c.server, status, http.StatusText(status))
	}
	if text := said.Data[c.field.Name]; len(text) > 0 && (text.Kind() != 'n' || len(said.Errors) == 0) { // print the result even if parts failed
		if err := text.Indent(jsontext.WithIndent("  ")); err != nil {
			return err
		}
		if _, err := fmt.Fprintln(out, text); err != nil {
			return err
		}
	}
	if len(said.Errors) == 0 {
		return nil
	}
	e := said.Errors[0]
	err := fmt.Errorf("%s: %s (request %s)", e.Extensions.Code, e.Message, e.Extensions.RequestID)
	return withFields(err, e.Extensions.Errors)
}
