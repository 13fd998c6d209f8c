package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/spf13/cobra"

	"parapet/model/kernel/seal"
)

// checkStatus is the result of a check.
type checkStatus string

const (
	checkOK   checkStatus = "ok"
	checkWarn checkStatus = "warn" // works, but an operator should know
	checkFail checkStatus = "fail" // serve would not start or not work
)

// checkResult is the result of one check with its messages.
type checkResult struct {
	Check   string      `json:"check"`
	Verdict checkStatus `json:"verdict"`
	Found   string      `json:"found"`
	Advice  string      `json:"advice,omitempty"` // what to do; empty when ok
}

// newDoctorCommand checks everything serve needs, with the configuration serve would have.
// It only writes a file that it removes again.
func newDoctorCommand() *cobra.Command {
	var format outputFormat
	var asJSON bool
	cmd := &cobra.Command{
		Use: "doctor", Example: "  parapet doctor\n  parapet doctor --output json",
		Short: "check the configuration and everything it names, and say what to do", Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return runDoctor(cmd.Context(), asJSON || format == formatJSON, cmd.OutOrStdout())
		},
	}
	format.addFlag(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "the same as --output json")
	return cmd
}

func runDoctor(ctx context.Context, asJSON bool, out io.Writer) error {
	var found []checkResult
	s, err := loadSettings()
	if err != nil {
		found = []checkResult{{"settings", checkFail, err.Error(), "Correct the environment; parapet config lists every setting."}}
	} else {
		found = runChecks(ctx, s)
	}
	if err := printResults(out, found, asJSON); err != nil {
		return err
	}
	sick := 0
	for _, d := range found {
		if d.Verdict == checkFail {
			sick++
		}
	}
	if sick > 0 {
		return fmt.Errorf("%d of %d checks failed", sick, len(found))
	}
	return nil
}

func printResults(out io.Writer, found []checkResult, asJSON bool) error {
	if asJSON {
		text, err := json.Marshal(found, jsontext.WithIndent("  "))
		if err == nil {
			_, err = out.Write(append(text, '\n'))
		}
		return err
	}
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, d := range found {
		_, _ = fmt.Fprintf(table, "%s\t%s\t%s\n", d.Verdict, d.Check, oneLine(d.Found))
		if d.Advice != "" {
			_, _ = fmt.Fprintf(table, "\t\t-> %s\n", d.Advice)
		}
	}
	return table.Flush()
}

// checker collects the results of parapet doctor; its app holds the parts opened so far.
type checker struct {
	*app

	results []checkResult
}

func (c *checker) addResult(check string, v checkStatus, found, advice string) {
	c.results = append(c.results, checkResult{check, v, found, advice})
}

// addError adds an ok result, or a failure with advice, and reports whether it was ok.
func (c *checker) addError(check string, err error, fine, advice string) bool {
	if err != nil {
		c.addResult(check, checkFail, err.Error(), advice)
		return false
	}
	c.addResult(check, checkOK, fine, "")
	return true
}

// sealKeyNames returns the ids of the seal keys.
func sealKeyNames(keys seal.Keys) string {
	var list []string
	for _, key := range keys.Seal {
		list = append(list, key.ID)
	}
	return strings.Join(list, ", ")
}

// oneLine returns an error's text on one line without repeated lines.
func oneLine(text string) string {
	var lines []string
	for line := range strings.SplitSeq(text, "\n") {
		if line = strings.TrimSpace(line); line != "" && !slices.Contains(lines, line) {
			lines = append(lines, line)
		}
	}
	return strings.ReplaceAll(strings.Join(lines, "; "), ":; ", ": ")
}

// runChecks checks everything reachable from the settings in turn; a failure skips only
// the checks that depend on it.
func runChecks(ctx context.Context, s settings) []checkResult {
	c := &checker{app: newCheckerApp(s)}
	defer c.closeAll()
	c.checkSettings()
	keys, err := s.parseKeys()
	if err == nil {
		err = keys.Check()
	}
	keyed := c.addError("keys", err, "seal keys: "+sealKeyNames(keys)+"; a fingerprint key",
		"Set PARAPET_SEAL_KEYS and PARAPET_FINGERPRINT_KEY to what the database was filled with.")
	migrated := c.checkDatabase(ctx)
	if migrated {
		c.addError("privileges", requirePrivileges(ctx, c.db.Pool), "the role may read and write every table", grantAdvice)
	}
	asked := migrated && keyed
	if asked {
		c.checkSealedSecrets(ctx, keys)
	}
	c.checkIssuers(ctx)
	c.checkFeeds(ctx)
	c.checkFileStore(ctx)
	if asked && c.files != nil {
		c.checkRestore(ctx, keys)
	}
	c.checkRail(ctx, migrated)
	return c.results
}
