package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"parapet/jobs"
	"parapet/jobs/feed"
	"parapet/jobs/fetch"
	"parapet/migrations"
	"parapet/model"
	"parapet/model/kernel/dbpool"
	"parapet/model/kernel/seal"
	"parapet/model/kernel/store"
)

// observeOptions are the flags of parapet observe.
type observeOptions struct {
	source string
	replay string // an event's id, lastEvent, or empty
	wait   bool
}

// lastEvent is the value of --replay-now without an event.
const lastEvent = "last"

// newObserveCommand records a file or an address of a hazard source.
func newObserveCommand() *cobra.Command {
	var o observeOptions
	cmd := &cobra.Command{
		Use: "observe FILE|URL --source SOURCE", Example: "  parapet observe week.geojson --source usgs --wait\n  parapet observe history.geojson --source usgs --replay-now=us1000chhc   # on a server for rehearsals",
		Short: "record a hazard feed's file or address", Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 || !slices.Contains(feed.Sources(), o.source) {
				return usageError{fmt.Errorf("name one file or address, and --source with one of %s", strings.Join(feed.Sources(), ", "))}
			}
			return runObserve(cmd.Context(), o, args[0], cmd.OutOrStdout())
		},
	}
	set := cmd.Flags()
	set.StringVar(&o.source, "source", "", "the source of the file: "+strings.Join(feed.Sources(), ", "))
	set.StringVar(&o.replay, "replay-now", "", "re-date a historical file so that an event happens now: --replay-now=`EVENT_ID`; --replay-now alone takes the last one")
	set.Lookup("replay-now").NoOptDefVal = lastEvent
	set.BoolVar(&o.wait, "wait", false, "wait until the workers of the server have decided what the file affects, and print the sums by partner and currency")
	return cmd
}

func runObserve(ctx context.Context, o observeOptions, from string, out io.Writer) error {
	file, err := readFileOrURL(ctx, from)
	if err != nil {
		return err
	}
	service, done, err := openDomain(ctx, nil)
	if err != nil {
		return err
	}
	defer done()
	var began time.Time
	if o.wait {
		if began, err = service.Progress.Now(ctx); err != nil {
			return err
		}
	}
	var seen jobs.IngestResult
	if o.replay != "" {
		seen, err = jobs.ReplayFile(ctx, service, o.source, file, strings.TrimPrefix(o.replay, lastEvent))
	} else {
		seen, err = jobs.IngestFrom(ctx, service, o.source, from, file)
	}
	printObserved(out, seen)
	if err == nil && o.wait {
		err = waitForDecisions(ctx, service.Progress, began, seen.Known, out)
	}
	if err == nil && len(seen.Problems) > 0 {
		err = fmt.Errorf("%s left out; the others are recorded", countOf(len(seen.Problems), "row was", "rows were"))
	}
	return err
}

// openDomain opens the domain layer with the configuration of the environment.
func openDomain(ctx context.Context, files store.FileStore) (*model.Service, func(), error) {
	s, err := loadSettings()
	if err != nil {
		return nil, nil, err
	}
	return s.openDomain(ctx, files)
}

// openDomain opens the domain layer without API and workers; the running server works the
// jobs it enqueues. files may be nil if no attachment is used. It returns an error if this
// release cannot use the database, which a newer one may have migrated.
func (s settings) openDomain(ctx context.Context, files store.FileStore) (service *model.Service, closeDomain func(), err error) {
	if s.DatabaseURL == "" {
		return nil, nil, errors.New("DATABASE_URL is missing: the address of the database the server uses (parapet dev prints it)")
	}
	db, err := dbpool.Open(ctx, s.DatabaseURL, 4)
	if err != nil {
		return nil, nil, err
	}
	defer func() {
		if err != nil {
			db.Close()
		}
	}()
	if err := migrations.Check(ctx, db.Pool); err != nil {
		return nil, nil, err
	}
	queue, err := jobs.NewQueue(db.Pool)
	if err != nil {
		return nil, nil, err
	}
	keys, err := s.parseKeys()
	if err != nil {
		return nil, nil, err
	}
	// Temporary keys suffice for observations and ledgers, which hold nothing sealed or
	// signed; commands that need the server's own keys reject a missing key.
	if len(keys.Seal) == 0 {
		keys.Seal = []seal.Key{{ID: "none", Secret: randomBytes(32)}}
	}
	if len(keys.Fingerprint) == 0 {
		keys.Fingerprint = randomBytes(32)
	}
	service, err = model.New(model.Config{DB: db, Queue: queue, Files: files, Keys: keys, Development: s.Rehearsal})
	return service, db.Close, err
}

// readFileOrURL reads a file or an address.
func readFileOrURL(ctx context.Context, name string) ([]byte, error) {
	if !strings.HasPrefix(name, "http://") && !strings.HasPrefix(name, "https://") {
		return os.ReadFile(name) //nolint:gosec // the operator chooses the file
	}
	fetched, err := (&fetch.Fetcher{}).Fetch(ctx, fetch.Poll{URL: name})
	return fetched.Body, err
}

func printObserved(out io.Writer, r jobs.IngestResult) {
	for _, problem := range r.Problems {
		_, _ = fmt.Fprintln(out, "left out:", problem)
	}
	_, _ = fmt.Fprintf(out, "created %d, revised %d, unchanged %d, rejected %d, retracted %d, other events %d, in the future %d, unreadable rows %d\n",
		r.Created, r.Revised, r.Unchanged, r.Rejected, r.Retracted, r.Skipped, r.FutureRows, len(r.Problems)-min(r.Rejected, len(r.Problems)))
}

// feedAddresses returns the live feeds to poll. They must use https because they decide
// claims.
func (a *app) feedAddresses() ([]jobs.Feed, error) {
	feeds, err := a.settings.parseFeeds()
	for _, f := range feeds {
		address, bad := url.Parse(f.URL)
		if bad != nil {
			return nil, fmt.Errorf("PARAPET_FEEDS: the address of %s cannot be read", f.Source)
		}
		if wrong := a.egressGuard.CheckURL(address); wrong != "" {
			return nil, fmt.Errorf("PARAPET_FEEDS: %s: %s", fetch.DisplayAddress(f.URL), strings.TrimSuffix(wrong, "."))
		}
	}
	return feeds, err
}
