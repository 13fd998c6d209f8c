package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/spf13/cobra"

	"parapet/model/hazard"
	"parapet/model/kernel/actor"
	"parapet/model/sandbox"
	"parapet/model/wire"
)

// rehearsal replays a past event on a rehearsal server, as a partner.
type rehearsal struct {
	server         string
	token          tokenSource
	event, station string
	location       string // latitude,longitude
	days           int
	upload, source string // a file, and the source whose format it has
	moveClock      string // moves the clock before
	out            io.Writer
}

// newRehearseCommand replays a past event and shows what it does to the partner's policies.
func newRehearseCommand() *cobra.Command {
	r := &rehearsal{token: tokenSource{scope: actor.ScopeClaimsWrite + " " + actor.ScopeClaimsRead}}
	cmd := &cobra.Command{
		Use: "rehearse", Short: "replay a past event on a rehearsal server: an earthquake, a storm, or days at a station", Args: noArguments,
		Example: "  parapet rehearse --event us1000chhc\n  parapet rehearse --event AL041992 --location 25.76,-80.19 --move-clock P30D\n  parapet rehearse --event Milwaukee/2008-06-03 --days 20 --move-clock P40D",
		RunE: func(cmd *cobra.Command, _ []string) error {
			r.out = cmd.OutOrStdout()
			return r.run(cmd.Context())
		},
	}
	set := cmd.Flags()
	set.StringVar(&r.server, "server", "http://127.0.0.1:8080", "origin of the API")
	set.StringVar(&r.event, "event", "", "the id of an earthquake or of a storm, or a station and a day; with --upload, an event of the file")
	set.IntVar(&r.days, "days", 0, "at a station: how many days, from the day of the event on (default 30)")
	set.StringVar(&r.location, "location", "", "latitude,longitude to move the event to")
	set.StringVar(&r.station, "station", "", "station to move the days to")
	set.StringVar(&r.upload, "upload", "", "file with the event, at most 1 MiB")
	set.StringVar(&r.source, "source", "", "whose format the file has: emsc, ghcn, nhc or usgs")
	set.StringVar(&r.moveClock, "move-clock", "", "move the clock of the server by this ISO 8601 duration before: a storm and days end now, and must begin after cover has")
	r.token.addFlags(set)
	return cmd
}

func (r *rehearsal) run(ctx context.Context) error {
	request, err := r.newRequest()
	if err != nil {
		return usageError{err}
	}
	r.server = strings.TrimSuffix(r.server, "/")
	if err := r.token.configure(r.server, http.DefaultClient); err != nil {
		return err
	}
	if r.moveClock != "" {
		moved, err := r.startRun(ctx, "/sandbox/clock", sandbox.ClockRequest{By: &r.moveClock})
		if err != nil {
			return err
		}
		_, _ = fmt.Fprintf(r.out, "The clock is at %s.\n", moved.Clock.ReachedAt.Format(time.RFC3339))
	}
	done, err := r.startRun(ctx, "/sandbox/replays", request)
	if err != nil {
		return err
	}
	return r.printResult(done.Replay)
}

func (r *rehearsal) newRequest() (in sandbox.ReplayRequest, err error) {
	if r.event == "" && r.upload == "" {
		return in, errors.New("name an event by --event, such as us1000chhc, or a file by --upload and --source")
	}
	for _, text := range []struct {
		from string
		to   **string
	}{{r.event, &in.Event}, {r.station, &in.Station}} {
		if text.from != "" {
			*text.to = &text.from
		}
	}
	if r.days != 0 {
		in.Days = &r.days
	}
	if r.location != "" {
		in.Location = new(hazard.Point)
		if _, err := fmt.Sscanf(r.location, "%f,%f", &in.Location.Latitude, &in.Location.Longitude); err != nil {
			return in, fmt.Errorf("--location=%s: use latitude,longitude in degrees, such as 23.98,121.61", r.location)
		}
	}
	if r.upload != "" {
		content, err := os.ReadFile(r.upload)
		if err != nil {
			return in, err
		}
		in.Upload = &sandbox.UploadedFile{Source: r.source, Content: string(content)}
	}
	return in, nil
}

// startRun starts a run and shows its progress until it ends.
func (r *rehearsal) startRun(ctx context.Context, path string, request any) (run wire.SandboxRun, err error) {
	body, err := json.Marshal(request)
	if err != nil {
		return run, err
	}
	token, err := r.token.getToken(ctx)
	if err != nil {
		return run, err
	}
	if err := sendJSON(ctx, http.DefaultClient, http.MethodPost, r.server+"/v1"+path, token, body, &run); err != nil {
		return run, err
	}
	err = pollUntil(ctx, func() (bool, error) {
		r.printBar(&run)
		if run.Status != string(sandbox.Running) {
			return true, nil
		}
		return false, fetchJSON(ctx, http.DefaultClient, r.server+"/v1/sandbox/runs/"+run.ID, token, &run)
	})
	if err == nil && run.Error != nil {
		err = errors.New(*run.Error)
	}
	return run, err
}

// printBar draws the progress of a run in a terminal, over the one before.
func (r *rehearsal) printBar(run *wire.SandboxRun) {
	const width = 40
	if !isTerminal(r.out) {
		return
	}
	filled := width * run.Progress / 100
	_, _ = fmt.Fprintf(r.out, "\r%-6s [%s%s] %3d %%", run.Kind, strings.Repeat("#", filled), strings.Repeat(".", width-filled), run.Progress)
	if run.Status != string(sandbox.Running) {
		_, _ = fmt.Fprintln(r.out)
	}
}

func (r *rehearsal) printResult(done *wire.SandboxReplay) error {
	_, _ = fmt.Fprintf(r.out, "%s of %s happened again at %s: %d observations, policies that it may affect: %d, claims: %d.\n",
		done.Event, done.ReplayedFrom.Format(time.DateOnly), done.OccurredAt.Format(time.RFC3339), done.Observations, done.Candidates, done.ClaimsOpened)
	if len(done.Lines) == 0 {
		return nil
	}
	table := tabwriter.NewWriter(r.out, 0, 0, 2, ' ', tabwriter.AlignRight)
	_, _ = fmt.Fprintln(table, "CURRENCY\tPOLICIES\tCLAIMS\tOWED\tPENDING\tBLOCKED\tRELEASED\t")
	for _, line := range done.Lines {
		_, _ = fmt.Fprintf(table, "%s\t%d\t%d\t%s\t%s\t%s\t%s\t\n", line.Currency, line.Candidates, line.ClaimsOpened, line.Owed, line.Pending, line.Blocked, line.Released)
	}
	return table.Flush()
}
