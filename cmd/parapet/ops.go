package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/spf13/cobra"
	"github.com/vektah/gqlparser/v2/ast"

	"parapet/model/kernel/actor"
	"parapet/model/kernel/apperr"
)

// operationTimeout limits an operation; the server times out after 30 s, and stops
// waiting for payouts in flight after a minute.
const operationTimeout = 90 * time.Second

// newOpsCommand calls operations of a running server.
func newOpsCommand() *cobra.Command {
	ops := &cobra.Command{
		Use: "ops", Short: "call an operation of operators on a running server",
		Long:    "parapet ops VERB calls an operation of a running server. Sign in by parapet login first, or name a token or a client.\n\n" + fileArgumentHelp,
		Example: "  parapet login --server https://api.example.com\n  parapet ops partners\n  parapet ops claim --id clm_… --output json",
	}
	ops.AddGroup(&cobra.Group{ID: "mutation", Title: "Change:"}, &cobra.Group{ID: "query", Title: "Read:"})
	all := operatorVerbs()
	for _, name := range slices.Sorted(maps.Keys(all)) {
		verb := newOperationCommand(name, all[name])
		verb.GroupID = all[name].keyword
		ops.AddCommand(verb)
	}
	return addVerbs(ops)
}

// newOperationCommand calls one operation and prints its response.
func newOperationCommand(name string, v operatorVerb) *cobra.Command {
	call := &opsCall{operatorVerb: v, values: map[string]any{}, tokenSource: tokenSource{scope: actor.ScopeOperator}}
	cmd := &cobra.Command{
		Use: name, Short: firstSentence(v.field.Description), Args: noArguments,
		Long: strings.Join(strings.Fields(v.field.Description), " ") + "\n\n" + fileArgumentHelp,
		RunE: func(cmd *cobra.Command, _ []string) error { return call.run(cmd) },
	}
	call.addFlags(cmd)
	return cmd
}

// fileArgumentHelp describes readArgument.
const fileArgumentHelp = "A value that begins with @ is read from the file of that name, @- from standard input; @@ stands for one @."

// readArgument returns the value of a flag: the text itself, or that of a file.
func readArgument(text string) (string, error) {
	name, isFile := strings.CutPrefix(text, "@")
	switch {
	case !isFile:
		return text, nil
	case strings.HasPrefix(name, "@"):
		return name, nil
	case name == "-":
		read, err := io.ReadAll(os.Stdin)
		return string(read), err
	}
	read, err := os.ReadFile(name) //nolint:gosec // the operator chooses the file
	return string(read), err
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
	format    outputFormat
	printer   func(io.Writer, jsontext.Value) error // prints the answer; nil prints it as format says
}

// run sends the operation when all its required flags are given.
func (c *opsCall) run(cmd *cobra.Command) error {
	if err := missingFlags(cmd, c.missingFlags(c.values)); err != nil {
		return err
	}
	return c.sendOperation(cmd.Context(), cmd.OutOrStdout())
}

func (c *opsCall) addFlags(cmd *cobra.Command) {
	set := cmd.Flags()
	set.StringVar(&c.server, "server", "", "origin of the server, https://api.example.com; PARAPET_SERVER (default: that of the only login)")
	c.tokenSource.addFlags(set)
	c.format.addFlag(cmd)
	set.StringVar(&c.selection, "select", "", "the fields of the answer to print, as GraphQL: '{ claim { id status } }'")
	for _, member := range c.inputMembers() {
		set.Func(kebabCase(member.Name), c.typeHelp(member.Type)+". "+strings.Join(strings.Fields(member.Description), " "), func(text string) error {
			text, err := readArgument(text)
			if err != nil {
				return err
			}
			c.values[member.Name], err = c.parseValue(member.Type, text)
			return err
		})
	}
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
	server := strings.TrimSuffix(cmp.Or(c.server, os.Getenv("PARAPET_SERVER"), onlyServer()), "/")
	if origin, err := url.Parse(server); err != nil || origin.Host == "" {
		return usageError{errors.New("name the server by --server, such as https://api.example.com")}
	}
	if err := c.configure(server, newAPIClient(operationTimeout)); err != nil {
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

func (c *opsCall) print(out io.Writer, answer jsontext.Value) error {
	if c.printer != nil {
		return c.printer(out, answer)
	}
	return c.format.print(out, answer)
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
		if err := c.print(out, text); err != nil {
			return err
		}
	}
	if len(said.Errors) == 0 {
		return nil
	}
	e := said.Errors[0]
	err := fmt.Errorf("%s: %s (request %s)", e.Extensions.Code, e.Message, e.Extensions.RequestID)
	return operationError{withFields(err, e.Extensions.Errors)}
}
