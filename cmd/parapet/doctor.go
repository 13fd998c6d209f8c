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

	"parapet/model"
)

// verdict is how a check ended.
type verdict string

const (
	well  verdict = "ok"
	watch verdict = "warn" // works, and somebody should know
	ill   verdict = "fail" // serve would not start, or not work
)

// diagnosis is one thing that was looked at.
type diagnosis struct {
	Check   string  `json:"check"`
	Verdict verdict `json:"verdict"`
	Found   string  `json:"found"`
	Advice  string  `json:"advice,omitempty"` // what to do; empty when all is well
}

// doctor looks at everything serve needs, on the configuration serve would have. It
// changes nothing but a file that it removes again.
func doctor(ctx context.Context, args []string, out io.Writer) error {
	set := flags("doctor")
	asJSON := set.Bool("json", false, "print a JSON list, for programs")
	if err := parseOnly(set, args); err != nil {
		return err
	}
	var found []diagnosis
	s, err := loadSettings()
	if err != nil {
		found = []diagnosis{{"settings", ill, err.Error(), "Correct the environment; parapet config lists every setting."}}
	} else {
		found = examine(ctx, s)
	}
	if err := prescribe(out, found, *asJSON); err != nil {
		return err
	}
	sick := 0
	for _, d := range found {
		if d.Verdict == ill {
			sick++
		}
	}
	if sick > 0 {
		return fmt.Errorf("%d of %d checks failed", sick, len(found))
	}
	return nil
}

func prescribe(out io.Writer, found []diagnosis, asJSON bool) error {
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

// ward is the patient, as far as it could be put together.
type ward struct {
	*app

	found []diagnosis
}

func (w *ward) say(check string, v verdict, found, advice string) {
	w.found = append(w.found, diagnosis{check, v, found, advice})
}

// judge says that all is well, or what is not and what to do.
func (w *ward) judge(check string, err error, fine, advice string) bool {
	if err != nil {
		w.say(check, ill, err.Error(), advice)
		return false
	}
	w.say(check, well, fine, "")
	return true
}

// names are those of the seal keys.
func names(keys model.Keys) string {
	var list []string
	for _, key := range keys.Seal {
		list = append(list, key.ID)
	}
	return strings.Join(list, ", ")
}

// oneLine is an error's text on one line, what it says twice once.
func oneLine(text string) string {
	var lines []string
	for line := range strings.SplitSeq(text, "\n") {
		if line = strings.TrimSpace(line); line != "" && !slices.Contains(lines, line) {
			lines = append(lines, line)
		}
	}
	return strings.ReplaceAll(strings.Join(lines, "; "), ":; ", ": ")
}

// examine looks at what can be reached from the settings, one thing after the
// other; what is missing ends only what depends on it.
func examine(ctx context.Context, s settings) []diagnosis {
	w := &ward{app: patient(s)}
	defer w.close()
	w.examineSettings()
	keys, err := s.keys()
	if err == nil {
		err = keys.Check()
	}
	keyed := w.judge("keys", err, "seal keys: "+names(keys)+"; a fingerprint key",
		"Set PARAPET_SEAL_KEYS and PARAPET_FINGERPRINT_KEY to what the database was filled with.")
	asked := w.examineDatabase(ctx) && keyed
	if asked {
		w.examineSecrets(ctx, keys)
	}
	w.examineIssuers(ctx)
	w.examineFeeds(ctx)
	w.examineFiles(ctx)
	if asked && w.files != nil {
		w.examineRestore(ctx, keys)
	}
	w.examineRail(ctx)
	return w.found
}
