package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"parapet/internal/auth"
	"parapet/internal/egress"
	"parapet/internal/filestore"
	"parapet/jobs"
	"parapet/jobs/feed"
	"parapet/migrations"
	"parapet/model"
)

const (
	examineTime = 5 * time.Second
	skewNoticed = time.Second      // clocks kept by NTP differ by milliseconds
	skewHarmful = 20 * time.Second // tokens are refused beyond 30 s
	oldest      = 140000           // server_version_num: what the SQL needs
)

func patient(s settings) *app {
	return &app{settings: s, log: slog.New(slog.DiscardHandler), guard: egress.New(egress.Config{Loopback: s.Loopback})}
}

func (w *ward) examineSettings() {
	w.judge("settings", w.settings.complete(), "complete", "Set what is named; parapet config lists every setting with its meaning.")
	switch {
	case w.settings.Desk && w.settings.BaseURL == "":
		w.say("desk", watch, "PARAPET_BASE_URL is empty", "Name this server's https origin, or the issuer cannot send people back behind a proxy.")
	case w.settings.Desk:
		w.say("desk", well, "returns to "+w.settings.BaseURL+"/ops/callback", "")
	}
}

// examineDatabase tells whether the database can be asked further.
func (w *ward) examineDatabase(ctx context.Context) bool {
	if w.settings.DatabaseURL == "" {
		return false // complete has said so
	}
	ctx, cancel := context.WithTimeout(ctx, examineTime)
	defer cancel()
	var err error
	if w.db, err = model.Open(ctx, w.settings.DatabaseURL, 2); err == nil {
		err = w.db.Pool.Ping(ctx)
	}
	if err != nil {
		w.say("database", ill, address(err, w.settings.DatabaseURL), "Check that DATABASE_URL names a Postgres that runs, that this machine may reach it, and the password.")
		return false
	}
	if w.river, err = riverPool(ctx, w.settings.DatabaseURL); err != nil {
		w.say("database", ill, address(err, w.settings.DatabaseURL), "Check DATABASE_URL.")
		return false
	}
	var version, connections int
	var name, commit, fsync string
	var now time.Time
	err = w.db.Pool.QueryRow(ctx, `select current_setting('server_version_num')::int, current_setting('server_version'), current_setting('max_connections')::int,
		current_setting('synchronous_commit'), current_setting('fsync'), clock_timestamp()`).Scan(&version, &name, &connections, &commit, &fsync, &now)
	local := time.Now()
	switch {
	case err != nil:
		w.say("database", ill, err.Error(), "See the server's log.")
		return false
	case version < oldest:
		w.say("database", ill, "Postgres "+name, "Use Postgres 14 or later.")
	case connections < int(w.settings.Connections)+riverConnections+5:
		w.say("database", watch, fmt.Sprintf("max_connections %d", connections), fmt.Sprintf("One process uses up to %d; raise it, or lower PARAPET_CONNECTIONS.", w.settings.Connections+riverConnections))
	default:
		w.say("database", well, fmt.Sprintf("Postgres %s, %d connections", name, connections), "")
	}
	if commit == "off" || fsync == "off" {
		how := ill
		if w.settings.Rehearsal {
			how = watch
		}
		w.say("durability", how, fmt.Sprintf("synchronous_commit %s, fsync %s", commit, fsync), "Turn both on: a payout that was intended must not be forgotten.")
	}
	w.skew("clock of the database", now.Sub(local))
	return w.judge("migrations", migrations.Check(ctx, w.db.Pool), "at this release", "Run parapet migrate with this DATABASE_URL.")
}

// address is an error without the password that an address may hold.
func address(err error, of string) string {
	text := err.Error()
	if parsed, bad := url.Parse(of); bad == nil && parsed.User != nil {
		if password, set := parsed.User.Password(); set && password != "" {
			text = strings.ReplaceAll(text, password, "…")
		}
	}
	return text
}

func (w *ward) skew(check string, by time.Duration) {
	found := fmt.Sprintf("differs by %s", by.Round(time.Millisecond))
	switch {
	case by.Abs() > skewHarmful:
		w.say(check, ill, found, "Keep the clocks by NTP: tokens are refused and deadlines are wrong.")
	case by.Abs() > skewNoticed+time.Second: // a Date header has whole seconds
		w.say(check, watch, found, "Keep the clocks by NTP.")
	default:
		w.say(check, well, found, "")
	}
}

// examineSecrets looks whether every key is there that something was sealed with.
func (w *ward) examineSecrets(ctx context.Context, keys model.Keys) {
	queue, err := jobs.NewQueue(w.river)
	if err == nil {
		w.service, err = model.New(model.Config{DB: w.db, Queue: queue, Keys: keys, Development: w.settings.Rehearsal})
	}
	if err != nil {
		w.say("keys", ill, err.Error(), "Use 32 bytes in base64 for each seal key, and 32 or more for the fingerprint key.")
		return
	}
	rehearses, err := w.service.Rehearses(ctx)
	if err == nil && rehearses && !w.settings.Rehearsal {
		err = errors.New("the database belongs to the development stack")
	}
	w.judge("rehearsals", err, "not mixed with production", "Name another database, or ask for rehearsals by PARAPET_REHEARSAL=true.")
	counts, err := w.service.SealedBy(ctx, model.System())
	var unknown, older []string
	for _, id := range slices.Sorted(maps.Keys(counts)) {
		at := slices.IndexFunc(keys.Seal, func(key model.SealKey) bool { return key.ID == id })
		switch {
		case at < 0:
			unknown = append(unknown, id)
		case at > 0:
			older = append(older, id)
		}
	}
	switch {
	case err != nil:
		w.say("sealed secrets", ill, err.Error(), "See the server's log.")
	case len(unknown) > 0:
		w.say("sealed secrets", ill, "sealed by keys that are not here: "+strings.Join(unknown, ", "), "Add these keys to PARAPET_SEAL_KEYS: accounts and webhook secrets cannot be read without.")
	case len(older) > 0:
		w.say("sealed secrets", watch, "older keys are still needed: "+strings.Join(older, ", "), "Run parapet keys rotate before they are taken out.")
	default:
		w.say("sealed secrets", well, "all by known keys", "")
	}
	w.judge("keys open", w.service.TryKeys(ctx, model.System()), "what they sealed",
		"Use the very keys with which this database was filled; a key keeps its name and its bytes.")
}

func (w *ward) examineIssuers(ctx context.Context) {
	for _, issuer := range w.settings.Issuers {
		verifier, err := auth.New(auth.Config{
			Issuers: []string{issuer}, Audience: w.settings.Audience, Algorithms: w.settings.Algorithms, PartnerClaim: w.settings.PartnerClaim, Now: time.Now,
		})
		if err == nil {
			err = verifier.Ready(ctx)
		}
		if !w.judge("issuer "+issuer, err, "answers, with keys", "Check OIDC_ISSUER letter by letter against the issuer member of its discovery document, and that this machine may reach it.") {
			continue
		}
		answer, err := w.get(ctx, http.DefaultClient, strings.TrimSuffix(issuer, "/")+"/.well-known/openid-configuration")
		if err != nil {
			continue
		}
		if date, err := http.ParseTime(answer.Get("Date")); err == nil {
			w.skew("clock of "+issuer, time.Until(date))
		}
	}
}

// get is the header of a successful answer.
func (w *ward) get(ctx context.Context, client *http.Client, address string) (http.Header, error) {
	ctx, cancel := context.WithTimeout(ctx, examineTime)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, http.NoBody)
	if err != nil {
		return nil, feed.Cause(err)
	}
	answer, err := client.Do(request)
	if err != nil {
		return nil, feed.Cause(err) // the address may hold a key
	}
	defer answer.Body.Close()
	_, _ = io.CopyN(io.Discard, answer.Body, 1<<16)
	if answer.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("it answers %s", answer.Status)
	}
	return answer.Header, nil
}

func (w *ward) examineFeeds(ctx context.Context) {
	feeds, err := w.feeds()
	if err != nil {
		w.say("feeds", ill, err.Error(), "Correct PARAPET_FEEDS.")
		return
	}
	for _, f := range feeds {
		_, err := w.get(ctx, w.guard.Client(examineTime, egress.FollowRedirects), f.URL)
		w.judge("feed "+f.Source+" "+feed.Name(f.URL), err, "answers", "Open the address from this machine; it must be public and https.")
	}
	if len(feeds) == 0 {
		w.say("feeds", watch, "none is polled", "Name feeds in PARAPET_FEEDS, unless observations are posted.")
	}
}

func (w *ward) examineFiles(ctx context.Context) {
	store, err := filestore.Open(w.settings.Files)
	if err == nil {
		w.files = store
		ctx, cancel := context.WithTimeout(ctx, examineTime)
		defer cancel()
		err = tryStore(ctx, store)
	}
	w.judge("attachments", err, "written, read and deleted", "Check that PARAPET_FILES exists and that this process may write there.")
}

func tryStore(ctx context.Context, store filestore.Store) error {
	key, text := "doctor/"+rand.Text(), "parapet doctor"
	if err := store.Put(ctx, key, strings.NewReader(text)); err != nil {
		return err
	}
	file, err := store.Open(ctx, key)
	if err != nil {
		return err
	}
	read, err := io.ReadAll(file)
	if err == nil && string(read) != text {
		err = errors.New("what was read is not what was written")
	}
	return errors.Join(err, file.Close(), store.Delete(ctx, key))
}
