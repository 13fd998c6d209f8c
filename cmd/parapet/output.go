package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/spf13/cobra"
	"golang.org/x/term"
)

// outputFormat is the form of a command's results; empty leaves it to the command.
type outputFormat string

const (
	formatTable outputFormat = "table"
	formatJSON  outputFormat = "json"
)

// addFlag adds --output.
func (f *outputFormat) addFlag(cmd *cobra.Command) {
	cmd.Flags().Var(f, "output", "table or json (default: a table in a terminal)")
	_ = cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions([]string{string(formatTable), string(formatJSON)}, cobra.ShellCompDirectiveNoFileComp))
}

// String implements pflag.Value.
func (f *outputFormat) String() string { return string(*f) }

// Type implements pflag.Value.
func (f *outputFormat) Type() string { return "format" }

// Set implements pflag.Value.
func (f *outputFormat) Set(text string) error {
	if *f = outputFormat(text); *f != formatTable && *f != formatJSON {
		return fmt.Errorf("use %s or %s", formatTable, formatJSON)
	}
	return nil
}

// isTable reports whether results are printed as tables.
func (f *outputFormat) isTable(out io.Writer) bool {
	return *f == formatTable || *f == "" && isTerminal(out)
}

// print prints a JSON value: as a table if that was asked for, or in a terminal.
func (f *outputFormat) print(out io.Writer, value jsontext.Value) error {
	if f.isTable(out) {
		return printTable(out, value)
	}
	if err := value.Indent(jsontext.WithIndent("  ")); err != nil {
		return err
	}
	_, err := fmt.Fprintln(out, value)
	return err
}

func printJSON(out io.Writer, value any) error {
	text, err := json.Marshal(value, jsontext.WithIndent("  "))
	if err == nil {
		_, err = out.Write(append(text, '\n'))
	}
	return err
}

// isTerminal reports whether a person is at the other end of a stream.
func isTerminal(stream any) bool {
	file, isFile := stream.(*os.File)
	return isFile && term.IsTerminal(int(file.Fd()))
}

// maxColumns bounds the columns of a table for people; JSON has all members.
const maxColumns = 8

// printTable prints a list of records with a column for each member, and one record with a
// line for each member.
func printTable(out io.Writer, value jsontext.Value) error {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	records, rest, err := splitConnection(value)
	if err != nil {
		return err
	}
	if records == nil {
		for _, cell := range rest {
			_, _ = fmt.Fprintf(table, "%s\t%s\n", cell.name, cell.text)
		}
		return table.Flush()
	}
	var columns []string
	for _, record := range records {
		for _, cell := range record {
			if !slices.Contains(columns, cell.name) {
				columns = append(columns, cell.name)
			}
		}
	}
	hidden := max(0, len(columns)-maxColumns)
	columns = columns[:len(columns)-hidden]
	_, _ = fmt.Fprintln(table, strings.ToUpper(strings.Join(columns, "\t")))
	for _, record := range records {
		line := make([]string, len(columns))
		for _, cell := range record {
			if i := slices.Index(columns, cell.name); i >= 0 {
				line[i] = cell.text
			}
		}
		_, _ = fmt.Fprintln(table, strings.Join(line, "\t"))
	}
	if err := table.Flush(); err != nil {
		return err
	}
	if hidden > 0 {
		_, _ = fmt.Fprintf(out, "%d more columns: use --output json, or --select\n", hidden)
	}
	for _, cell := range rest {
		if cell.name == "totalCount" || cell.name == "pageInfo.endCursor" && cell.text != "" {
			_, _ = fmt.Fprintf(out, "%s %s\n", cell.name, cell.text)
		}
	}
	return nil
}

// cell is one member of a record, named by its path.
type cell struct{ name, text string }

// splitConnection returns the records of a list or of a GraphQL connection, and the cells
// of everything else; records is nil for a single record.
func splitConnection(value jsontext.Value) (records [][]cell, rest []cell, err error) {
	list := value
	if value.Kind() == '{' {
		list = nil
		err := eachMember(value, func(name string, member jsontext.Value) error {
			if name == "nodes" {
				list = member
				return nil
			}
			return appendCells(&rest, name, member)
		})
		if err != nil || list == nil {
			return nil, rest, err
		}
	}
	if list.Kind() != '[' {
		return nil, []cell{{"", scalarText(list)}}, nil
	}
	var items []jsontext.Value
	if err := json.Unmarshal(list, &items); err != nil {
		return nil, nil, err
	}
	records = [][]cell{}
	for _, item := range items {
		var record []cell
		if err := appendCells(&record, "", item); err != nil {
			return nil, nil, err
		}
		records = append(records, record)
	}
	return records, rest, nil
}

// eachMember calls visit for the members of an object in their order.
func eachMember(object jsontext.Value, visit func(name string, member jsontext.Value) error) error {
	decoder := jsontext.NewDecoder(bytes.NewReader(object))
	if _, err := decoder.ReadToken(); err != nil {
		return err
	}
	for decoder.PeekKind() != '}' {
		name, err := decoder.ReadToken()
		if err != nil {
			return err
		}
		key := name.String()
		member, err := decoder.ReadValue()
		if err != nil {
			return err
		}
		if err := visit(key, member.Clone()); err != nil {
			return err
		}
	}
	return nil
}

// appendCells appends the members of a value: those of an object by their paths, an amount
// with its currency, the number of the records of a list.
func appendCells(cells *[]cell, path string, value jsontext.Value) error {
	switch value.Kind() {
	case '{':
		var inner []cell
		err := eachMember(value, func(name string, member jsontext.Value) error {
			return appendCells(&inner, strings.TrimPrefix(path+"."+name, "."), member)
		})
		if len(inner) == 2 && inner[0].name == path+".amount" && inner[1].name == path+".currency" {
			inner = []cell{{path, inner[0].text + " " + inner[1].text}}
		}
		*cells = append(*cells, inner...)
		return err
	case '[':
		var items []jsontext.Value
		if err := json.Unmarshal(value, &items); err != nil {
			return err
		}
		texts := make([]string, len(items))
		for i, item := range items {
			if item.Kind() == '{' || item.Kind() == '[' {
				*cells = append(*cells, cell{path, fmt.Sprintf("%d records", len(items))})
				return nil
			}
			texts[i] = scalarText(item)
		}
		*cells = append(*cells, cell{path, strings.Join(texts, ", ")})
		return nil
	}
	*cells = append(*cells, cell{path, scalarText(value)})
	return nil
}

// scalarText returns a scalar without quotes; null is empty. Control characters of texts
// that others wrote do not reach the terminal.
func scalarText(value jsontext.Value) string {
	text := string(value)
	switch value.Kind() {
	case 'n':
		return ""
	case '"':
		if json.Unmarshal(value, &text) != nil {
			return ""
		}
	}
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, text)
}

// countOf returns a number with the words for one or for several.
func countOf(n int, one, several string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, several)
}
