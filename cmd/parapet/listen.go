package main

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/spf13/cobra"

	"parapet/jobs/webhook"
	"parapet/model/kernel/actor"
)

// eventForwarder forwards a partner's events from the feed to an address that only this
// machine can reach, signed as Parapet signs webhooks.
type eventForwarder struct {
	server, forward string
	types           string
	stateFile       string // holds the sequence of the last forwarded event; empty keeps none
	hasStateFlag    bool   // --state was given, even if empty
	token           tokenSource
	secret          []byte
	client          *http.Client // reads the feed
	sender          *webhook.Sender
	out             io.Writer
	lastSequence    int64
	generation      int // generation of the event lastSequence
}

// The wait before a failed feed request is retried doubles up to maxRetryWait.
const (
	firstRetryWait  = 250 * time.Millisecond
	maxRetryWait    = 5 * time.Second
	feedWaitSeconds = 30 // seconds that a feed request waits for an event
)

// newListenCommand forwards events until it is interrupted.
func newListenCommand() *cobra.Command {
	l := &eventForwarder{client: newAPIClient(time.Minute), token: tokenSource{scope: actor.ScopeEventsRead}}
	l.sender = &webhook.Sender{Now: time.Now, Client: newAPIClient(webhook.Timeout)}
	var secret string
	var after int64
	cmd := &cobra.Command{
		Use: "listen", Example: "  parapet login --partner --server https://api.example.com\n  parapet listen --server https://api.example.com --forward http://localhost:3000/hooks",
		Short: "forward a partner's events, signed, to an address on this machine", Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			l.out, l.hasStateFlag = cmd.OutOrStdout(), cmd.Flags().Changed("state")
			return l.run(cmd.Context(), secret, after)
		},
	}
	set := cmd.Flags()
	set.StringVar(&l.server, "server", "http://127.0.0.1:8080", "origin of the API")
	set.StringVar(&l.forward, "forward", "", "where to post the events, such as http://localhost:3000/hooks")
	set.StringVar(&l.types, "types", "", "event types, separated by commas (default: all)")
	set.StringVar(&l.stateFile, "state", "", "file that stores the position to continue from; none stores nothing (default: a file for these addresses and this client in the user's settings)")
	set.Int64Var(&after, "after", -1, "forward the events after this sequence; 0: all (default: only new events)")
	l.token.addFlags(set)
	set.StringVar(&secret, "secret", "", "whsec_… secret to sign with (default: always the same one for an address)")
	return cmd
}

// run forwards until ctx ends.
func (l *eventForwarder) run(ctx context.Context, secret string, after int64) error {
	if l.stateFile == "none" {
		l.stateFile = ""
	}
	if err := l.prepareRun(ctx, secret, after); err != nil {
		return err
	}
	return l.forwardEvents(ctx)
}

// prepareRun validates the flags and finds the start position.
func (l *eventForwarder) prepareRun(ctx context.Context, secret string, after int64) (err error) {
	l.server = strings.TrimSuffix(l.server, "/")
	target, err := url.Parse(l.forward)
	if err != nil || target.Host == "" || target.Scheme != "http" && target.Scheme != "https" {
		return usageError{errors.New("--forward: name an address such as http://localhost:3000/hooks")}
	}
	if err := l.token.configure(l.server, l.client); err != nil {
		return err
	}
	if secret == "" { // stable over restarts, so the receiver can keep it in its settings
		sum := sha256.Sum256([]byte("parapet listen\n" + l.server + "\n" + l.forward))
		secret = "whsec_" + base64.StdEncoding.EncodeToString(sum[:])
	}
	if l.secret, err = base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, "whsec_")); err != nil || len(l.secret) < 24 {
		return usageError{errors.New("--secret: use whsec_ and the base64 of 24 to 64 bytes")}
	}
	if err := l.chooseStateFile(); err != nil {
		return err
	}
	if err := l.findStart(ctx, after); err != nil {
		return err
	}
	_, err = fmt.Fprintf(l.out, "Forwarding %s/v1/events after %d to %s, position in %s\nSigned with %s\nCtrl-C ends it.\n\n", l.server, l.lastSequence, l.forward, cmp.Or(l.stateFile, "no file"), secret)
	return err
}

// forwardEvents forwards until ctx ends. It retries a failed feed for ever, because
// servers restart.
func (l *eventForwarder) forwardEvents(ctx context.Context) error {
	wait := firstRetryWait
	for ctx.Err() == nil {
		query := l.feedQuery(l.lastSequence)
		query.Set("limit", "100")
		query.Set("wait", strconv.Itoa(feedWaitSeconds))
		if l.types != "" {
			query.Set("types", l.types)
		}
		page, err := l.fetchPage(ctx, query)
		var refused *statusError
		switch {
		case ctx.Err() != nil:
			return nil //nolint:nilerr // an interrupt is no failure
		case errors.As(err, &refused) && refused.isFinal():
			return err
		case err != nil:
			l.printLine("the feed does not answer, asking again in %v: %v", wait, err)
			sleepContext(ctx, wait)
			wait = min(2*wait, maxRetryWait)
			continue
		}
		wait = firstRetryWait
		for _, body := range page.Data {
			if err := l.forwardEvent(ctx, body); err != nil || ctx.Err() != nil {
				return err
			}
		}
	}
	return nil
}

// forwardEvent forwards one event and prints a line.
func (l *eventForwarder) forwardEvent(ctx context.Context, body []byte) error {
	var event struct {
		ID         string              `json:"id"`
		Type       string              `json:"type"`
		Sequence   int64               `json:"sequence"`
		Generation int                 `json:"generation"`
		Subject    struct{ ID string } `json:"subject"`
	}
	if err := json.Unmarshal(body, &event, json.MatchCaseInsensitiveNames(true)); err != nil {
		return fmt.Errorf("read event: %w", err)
	}
	result := l.sendUntilAnswered(ctx, event.Sequence, webhook.Message{URL: l.forward, Secrets: [][]byte{l.secret}, ID: event.ID, Body: body})
	if ctx.Err() != nil && !result.Delivered {
		return nil // the next run sends it again
	}
	answer := strconv.Itoa(*result.Attempt.StatusCode)
	if result.Attempt.Error != nil {
		answer += " (" + *result.Attempt.Error + ")"
	}
	l.printLine("%6d  %-28s %s  %s  → %s in %d ms", event.Sequence, event.Type, event.ID, event.Subject.ID, answer, result.Attempt.DurationMS)
	l.lastSequence, l.generation = event.Sequence, event.Generation
	return l.saveState()
}

// sendUntilAnswered sends an event until there is any response, so that a receiver that
// starts later misses nothing. It returns without a response only when ctx ends.
func (l *eventForwarder) sendUntilAnswered(ctx context.Context, sequence int64, m webhook.Message) webhook.Result {
	for wait := firstRetryWait; ; wait = min(2*wait, maxRetryWait) {
		result := l.sender.Send(ctx, m)
		if result.Attempt.StatusCode != nil || ctx.Err() != nil {
			return result
		}
		if wait == firstRetryWait {
			l.printLine("%6d  %s: no answer from %s (%s); trying this event until there is one", sequence, m.ID, m.URL, *result.Attempt.Error)
		}
		sleepContext(ctx, wait)
	}
}

func (l *eventForwarder) printLine(format string, args ...any) {
	_, _ = fmt.Fprintf(l.out, time.Now().Format(time.TimeOnly)+"  "+format+"\n", args...)
}

// feedPage is a page of the feed with each event's exact bytes.
type feedPage struct {
	Data []jsontext.Value `json:"data"`
}

// fetchPage reads the feed, and retries once with a new token when the old one has
// expired.
func (l *eventForwarder) fetchPage(ctx context.Context, query url.Values) (page feedPage, err error) {
	for range 2 {
		var token string
		if token, err = l.token.getToken(ctx); err != nil {
			return page, err
		}
		err = fetchJSON(ctx, l.client, l.server+"/v1/events?"+query.Encode(), token, &page)
		var refused *statusError
		over := errors.As(err, &refused) && refused.status == http.StatusUnauthorized
		if !over || !l.token.discardToken() {
			break
		}
	}
	return page, err
}

func sleepContext(ctx context.Context, wait time.Duration) {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
