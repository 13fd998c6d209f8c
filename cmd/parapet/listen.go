package main

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"parapet/jobs/webhook"
	"parapet/model"
)

// listener forwards a partner's events from the feed to an address that only this
// machine can reach, signed as Parapet signs them.
type listener struct {
	server, forward string
	types           string
	state           string // file with the sequence of the last event forwarded; empty keeps none
	settled         bool   // state is as asked for, even when it is empty
	token           tokens
	secret          []byte
	client          *http.Client // asks the feed
	sender          *webhook.Sender
	out             io.Writer
	after           int64
	generation      int // of the event that after is the sequence of
}

// How often a feed that does not answer is asked again: ever less, up to listenLast.
const (
	listenFirst = 250 * time.Millisecond
	listenLast  = 5 * time.Second
	listenWait  = 30 // seconds; how long an answer may wait for an event
)

// listenHere runs until it is interrupted.
func listenHere(ctx context.Context, args []string, out io.Writer) error {
	l := &listener{client: &http.Client{Timeout: time.Minute}, out: out, token: tokens{scope: model.ScopeEventsRead}}
	l.sender = &webhook.Sender{Now: time.Now, Client: &http.Client{
		Timeout: webhook.Timeout, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
	set := flags("listen")
	set.StringVar(&l.server, "server", "http://127.0.0.1:8080", "origin of the API")
	set.StringVar(&l.forward, "forward", "", "where to post the events, such as http://localhost:3000/hooks")
	set.StringVar(&l.types, "types", "", "event types with commas between; all without")
	set.StringVar(&l.state, "state", "", "file that remembers how far it came, to go on there; none keeps nothing (default: one of these addresses and this client below the user's settings)")
	after := set.Int64("after", -1, "forward what came after this sequence; 0 for all, without only what is new")
	l.token.flags(set)
	secret := set.String("secret", "", "whsec_… to sign with (default: the same for the same address)")
	if err := parseOnly(set, args); err != nil {
		return err
	}
	set.Visit(func(f *flag.Flag) { l.settled = l.settled || f.Name == "state" })
	if l.state == "none" {
		l.state = ""
	}
	if err := l.prepare(ctx, *secret, *after); err != nil {
		return err
	}
	return l.run(ctx)
}

// prepare checks what was asked for and finds out where to begin.
func (l *listener) prepare(ctx context.Context, secret string, after int64) (err error) {
	l.server = strings.TrimSuffix(l.server, "/")
	target, err := url.Parse(l.forward)
	if err != nil || target.Host == "" || target.Scheme != "http" && target.Scheme != "https" {
		return errors.New("--forward: name an address such as http://localhost:3000/hooks")
	}
	if err := l.token.settle(l.server, l.client); err != nil {
		return err
	}
	if secret == "" { // stays the same over restarts, so it can stay in the receiver's settings
		sum := sha256.Sum256([]byte("parapet listen\n" + l.server + "\n" + l.forward))
		secret = "whsec_" + base64.StdEncoding.EncodeToString(sum[:])
	}
	if l.secret, err = base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, "whsec_")); err != nil || len(l.secret) < 24 {
		return errors.New("--secret: use whsec_ and the base64 of 24 to 64 bytes")
	}
	if err := l.keep(); err != nil {
		return err
	}
	if err := l.begin(ctx, after); err != nil {
		return err
	}
	_, err = fmt.Fprintf(l.out, "Forwarding %s/v1/events after %d to %s, remembered in %s\nSigned with %s\nCtrl-C ends it.\n\n", l.server, l.after, l.forward, cmp.Or(l.state, "no file"), secret)
	return err
}

// run forwards until ctx ends. A feed that does not answer is asked again for ever:
// servers restart.
func (l *listener) run(ctx context.Context) error {
	wait := listenFirst
	for ctx.Err() == nil {
		query := l.place(l.after)
		query.Set("limit", "100")
		query.Set("wait", strconv.Itoa(listenWait))
		if l.types != "" {
			query.Set("types", l.types)
		}
		page, err := l.page(ctx, query)
		var refused *refusedError
		switch {
		case ctx.Err() != nil:
			return nil //nolint:nilerr // to be told to stop is no failure
		case errors.As(err, &refused) && refused.final():
			return err
		case err != nil:
			l.say("the feed does not answer, asking again in %v: %v", wait, err)
			pause(ctx, wait)
			wait = min(2*wait, listenLast)
			continue
		}
		wait = listenFirst
		for _, body := range page.Data {
			if err := l.pass(ctx, body); err != nil || ctx.Err() != nil {
				return err
			}
		}
	}
	return nil
}

// pass forwards one event, and tells.
func (l *listener) pass(ctx context.Context, body []byte) error {
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
	result := l.insist(ctx, event.Sequence, webhook.Message{URL: l.forward, Secrets: [][]byte{l.secret}, ID: event.ID, Body: body})
	if ctx.Err() != nil && !result.Delivered {
		return nil // it is sent again by the next run
	}
	answer := strconv.Itoa(*result.Attempt.StatusCode)
	if result.Attempt.Error != nil {
		answer += " (" + *result.Attempt.Error + ")"
	}
	l.say("%6d  %-28s %s  %s  → %s in %d ms", event.Sequence, event.Type, event.ID, event.Subject.ID, answer, result.Attempt.DurationMS)
	l.after, l.generation = event.Sequence, event.Generation
	return l.remember()
}

// insist sends an event until something answers, whatever it says: a receiver that is
// not up yet misses nothing. Only when ctx ends is there no answer.
func (l *listener) insist(ctx context.Context, sequence int64, m webhook.Message) webhook.Result {
	for wait := listenFirst; ; wait = min(2*wait, listenLast) {
		result := l.sender.Send(ctx, m)
		if result.Attempt.StatusCode != nil || ctx.Err() != nil {
			return result
		}
		if wait == listenFirst {
			l.say("%6d  %s: no answer from %s (%s); trying this event until there is one", sequence, m.ID, m.URL, *result.Attempt.Error)
		}
		pause(ctx, wait)
	}
}

func (l *listener) say(format string, args ...any) {
	_, _ = fmt.Fprintf(l.out, time.Now().Format(time.TimeOnly)+"  "+format+"\n", args...)
}

// feedPage is a page of the feed, each event as it came.
type feedPage struct {
	Data []jsontext.Value `json:"data"`
}

// page asks the feed once, and once more with a new token where the old one is over.
func (l *listener) page(ctx context.Context, query url.Values) (page feedPage, err error) {
	for range 2 {
		var token string
		if token, err = l.token.get(ctx); err != nil {
			return page, err
		}
		err = fetchInto(ctx, l.client, l.server+"/v1/events?"+query.Encode(), token, &page)
		var refused *refusedError
		over := errors.As(err, &refused) && refused.status == http.StatusUnauthorized
		if !over || !l.token.forget() {
			break
		}
	}
	return page, err
}

func pause(ctx context.Context, wait time.Duration) {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
