package main

import (
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/spf13/cobra"

	"parapet/model/hazard"
	"parapet/model/kernel/actor"
)

const historyLoadHelp = `Checks a file of past events and makes it the history of new quotes, for one data set as a whole. Earlier quotes keep their
price and the digest of its history. The file begins with lines "# key: value":

  # data_set: earthquakes            or storms (HURDAT2 of the Atlantic), station_days
  # name: USGS earthquakes 1965-2024
  # first_year: 1965
  # last_year: 2024
  # minimum_magnitude: 5.5           earthquakes only
  time,latitude,longitude,magnitude,depth_km,id
  1965-01-05T18:05:58.98Z,-20.579,-173.972,6.23,20,iscgem860762

It may be compressed by gzip. Faults are named by their lines. --dry-run checks the file and prints how it changes the
premium of each product's defaults.`

// newHistoryCommand handles the history that prices are computed from.
func newHistoryCommand() *cobra.Command {
	history := &cobra.Command{
		Use: "history", Short: "load the past events that prices are computed from",
		Example: "  parapet history load quakes.csv --reason 'Events of 2023 and 2024' --dry-run\n  parapet history list\n  parapet history export sha256:3c1f… > quakes.csv",
	}
	load := newHistoryVerb("load FILE", "loadPriceHistory", "make a file the history of new quotes", setHistoryFile)
	load.Long = historyLoadHelp
	list := newHistoryVerb("list", "priceHistories", "list the versions of each data set", nil)
	export := newHistoryVerb("export DIGEST", "priceHistoryFile", "write the file of a digest, for parapet verify --history", func(c *opsCall, digest string) error {
		c.values["digest"], c.printer = digest, writeHistoryFile
		return nil
	})
	return addVerbs(history, load, list, export)
}

// newHistoryVerb calls the operation of a GraphQL field. setArgument puts its argument into
// the values; nil for a verb without one.
func newHistoryVerb(use, field, short string, setArgument func(*opsCall, string) error) *cobra.Command {
	call := &opsCall{operatorVerb: operatorVerbs()[kebabCase(field)], values: map[string]any{}, tokenSource: tokenSource{scope: actor.ScopeOperator}}
	cmd := &cobra.Command{Use: use, Short: short, Args: cobra.ArbitraryArgs}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if setArgument == nil && len(args) > 0 || setArgument != nil && len(args) != 1 {
			return usageError{errors.New("use: parapet history " + use)}
		}
		if setArgument != nil {
			if err := setArgument(call, args[0]); err != nil {
				return err
			}
		}
		return call.run(cmd)
	}
	call.addFlags(cmd)
	for _, hidden := range []string{"content-base64", "digest", "client-mutation-id"} {
		if flag := cmd.Flags().Lookup(hidden); flag != nil {
			flag.Hidden = true
		}
	}
	if dryRun := cmd.Flags().Lookup("dry-run"); dryRun != nil {
		dryRun.NoOptDefVal = "true"
	}
	return cmd
}

// setHistoryFile reads a file, and compresses it for the way to the server.
func setHistoryFile(c *opsCall, name string) error {
	file, err := readHistoryFile(name)
	if err != nil {
		return usageError{err}
	}
	content, err := hazard.PackFile(file)
	c.values["contentBase64"] = base64.StdEncoding.EncodeToString(content)
	c.printer = c.printLoadedHistory
	return err
}

// printLoadedHistory prints for people the edition and, below, how prices change.
func (c *opsCall) printLoadedHistory(out io.Writer, answer jsontext.Value) error {
	var loaded struct {
		PriceHistory, Prices jsontext.Value
	}
	if err := json.Unmarshal(answer, &loaded, json.MatchCaseInsensitiveNames(true)); err != nil || loaded.Prices == nil || !c.format.isTable(out) {
		return errors.Join(err, c.format.print(out, answer))
	}
	if err := c.format.print(out, loaded.PriceHistory); err != nil {
		return err
	}
	_, _ = fmt.Fprintln(out)
	return c.format.print(out, loaded.Prices)
}

// writeHistoryFile writes the file that the server answered, which the digest covers.
func writeHistoryFile(out io.Writer, answer jsontext.Value) error {
	var text string
	if err := json.Unmarshal(answer, &text); err != nil {
		return err
	}
	content, err := base64.StdEncoding.DecodeString(text)
	if err == nil {
		content, err = hazard.UnpackFile(content)
	}
	if err == nil {
		_, err = out.Write(content)
	}
	return err
}

// readHistoryFile reads a file of the history, as load takes it and export writes it.
func readHistoryFile(name string) ([]byte, error) {
	content, err := os.ReadFile(name) //nolint:gosec // the caller chooses the file
	if err != nil {
		return nil, err
	}
	return hazard.UnpackFile(content)
}
