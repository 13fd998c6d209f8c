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
	"parapet/jobs/fetch"
	"parapet/migrations"
	"parapet/model"
	"parapet/model/dbconn"
	"parapet/model/kernel/actor"
	"parapet/model/kernel/dbpool"
	"parapet/model/kernel/seal"
)

const (
	checkTimeout     = 5 * time.Second
	skewWarn         = time.Second      // NTP keeps clocks within milliseconds
	skewFail         = 20 * time.Second // tokens are rejected beyond 30 s
	minServerVersion = 140000           // server_version_num: minimum for the SQL
)

func newCheckerApp(s settings) *app {
	return &app{settings: s, log: slog.New(slog.DiscardHandler), egressGuard: egress.New(egress.Config{Loopback: s.Loopback})}
}

func (c *checker) checkSettings() {
	c.addError("settings", c.settings.checkComplete(), "complete", "Set what is named; parapet config lists every setting with its meaning.")
	switch {
	case c.settings.OperatorUI && c.settings.BaseURL == "":
		c.addResult("desk", checkWarn, "PARAPET_BASE_URL is empty", "Name this server's https origin: otherwise the issuer cannot send people back through a proxy.")
	case c.settings.OperatorUI:
		c.addResult("desk", checkOK, "returns to "+c.settings.BaseURL+"/ops/callback", "")
	}
}

// checkDatabase reports whether the following checks can use the database.
func (c *checker) checkDatabase(ctx context.Context) bool {
	if c.settings.DatabaseURL == "" {
		return false // checkSettings has reported it
	}
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	var err error
	if c.db, err = dbpool.Open(ctx, c.settings.DatabaseURL, 2); err == nil {
		err = c.db.Pool.Ping(ctx)
	}
	if err == nil {
		err = dbconn.RequireSession(ctx, c.settings.DatabaseURL)
	}
	if err != nil {
		c.addResult("database", checkFail, hidePassword(withDatabaseText(err), c.settings.DatabaseURL), "Check that DATABASE_URL names a Postgres that runs, that this machine may reach it, and the password.")
		return false
	}
	if c.riverPool, err = openPool(ctx, c.settings.DatabaseURL, riverConnections); err != nil {
		c.addResult("database", checkFail, hidePassword(err, c.settings.DatabaseURL), "Check DATABASE_URL.")
		return false
	}
	var version, connections int
	var name, commit, fsync string
	var now time.Time
	err = c.db.Pool.QueryRow(ctx, `select current_setting('server_version_num')::int, current_setting('server_version'), current_setting('max_connections')::int,
		current_setting('synchronous_commit'), current_setting('fsync'), clock_timestamp()`).Scan(&version, &name, &connections, &commit, &fsync, &now)
	local := time.Now()
	switch {
	case err != nil:
		c.addResult("database", checkFail, err.Error(), "Read the server's log.")
		return false
	case version < minServerVersion:
		c.addResult("database", checkFail, "Postgres "+name, "Use Postgres 14 or later.")
	case connections < int(c.settings.Connections)+riverConnections+5:
		c.addResult("database", checkWarn, fmt.Sprintf("max_connections %d", connections), fmt.Sprintf("One process uses up to %d; raise it, or lower PARAPET_CONNECTIONS.", c.settings.Connections+riverConnections))
	default:
		c.addResult("database", checkOK, fmt.Sprintf("Postgres %s, %d connections", name, connections), "")
	}
	if commit == "off" || fsync == "off" {
		how := checkFail
		if c.settings.Rehearsal {
			how = checkWarn
		}
		c.addResult("durability", how, fmt.Sprintf("synchronous_commit %s, fsync %s", commit, fsync), "Turn both on: the database must not forget the intent of a payout.")
	}
	c.checkClockSkew("clock of the database", now.Sub(local))
	err, advice := migrations.Check(ctx, c.db.Pool), "Run parapet migrate as the owner of the tables."
	if tooOld := new(migrations.BinaryTooOldError); errors.As(err, &tooOld) {
		advice = "Run the release that migrated the database, or a newer one."
	}
	return c.addError("migrations", err, "at this release", advice)
}

// hidePassword returns an error without the password in an address.
func hidePassword(err error, of string) string {
	text := err.Error()
	if parsed, bad := url.Parse(of); bad == nil && parsed.User != nil {
		if password, set := parsed.User.Password(); set && password != "" {
			text = strings.ReplaceAll(text, password, "…")
		}
	}
	return text
}

func (c *checker) checkClockSkew(check string, by time.Duration) {
	found := fmt.Sprintf("differs by %s", by.Round(time.Millisecond))
	switch {
	case by.Abs() > skewFail:
		c.addResult(check, checkFail, found, "Synchronise the clocks by NTP: otherwise tokens are refused and deadlines are wrong.")
	case by.Abs() > skewWarn+time.Second: // a Date header has whole seconds
		c.addResult(check, checkWarn, found, "Synchronise the clocks by NTP.")
	default:
		c.addResult(check, checkOK, found, "")
	}
}

const keysAdvice = "Use the keys that sealed and signed the data of this database; a key keeps its name and its bytes."

// checkSealedSecrets checks that every key exists that sealed stored data.
func (c *checker) checkSealedSecrets(ctx context.Context, keys seal.Keys) {
	queue, err := jobs.NewQueue(c.riverPool)
	if err == nil {
		c.service, err = model.New(model.Config{DB: c.db, Queue: queue, Keys: keys, Development: c.settings.Rehearsal})
	}
	if err != nil {
		c.addResult("keys", checkFail, err.Error(), "Use 32 bytes in base64 for each seal key, and 32 or more for the fingerprint key.")
		return
	}
	rehearses, err := c.service.IsRehearsal(ctx)
	if err == nil && rehearses && !c.settings.Rehearsal {
		err = errors.New("the database belongs to the development stack")
	}
	c.addError("rehearsals", err, "not mixed with production", "Name another database, or allow rehearsals with PARAPET_REHEARSAL=true.")
	counts, err := c.service.Operations.CountSecretsByKey(ctx, actor.System())
	var unknown, older []string
	for _, id := range slices.Sorted(maps.Keys(counts)) {
		at := slices.IndexFunc(keys.Seal, func(key seal.Key) bool { return key.ID == id })
		switch {
		case at < 0:
			unknown = append(unknown, id)
		case at > 0:
			older = append(older, id)
		}
	}
	switch {
	case err != nil:
		c.addResult("sealed secrets", checkFail, err.Error(), "Read the server's log.")
	case len(unknown) > 0:
		c.addResult("sealed secrets", checkFail, "sealed by keys that are not here: "+strings.Join(unknown, ", "), "Add these keys to PARAPET_SEAL_KEYS: accounts and webhook secrets cannot be read without them.")
	case len(older) > 0:
		c.addResult("sealed secrets", checkWarn, "older keys are still needed: "+strings.Join(older, ", "), "Run parapet keys rotate before you remove them.")
	default:
		c.addResult("sealed secrets", checkOK, "all by known keys", "")
	}
	c.addError("keys open", c.service.Operations.VerifyKeys(ctx, actor.System()), "what they sealed", keysAdvice)
}

func (c *checker) checkIssuers(ctx context.Context) {
	for _, issuer := range c.settings.Issuers {
		verifier, err := auth.New(auth.Config{
			Issuers: []string{issuer}, Audience: c.settings.Audience, Algorithms: c.settings.Algorithms, PartnerClaim: c.settings.PartnerClaim, Now: time.Now,
		})
		if err == nil {
			err = verifier.Ready(ctx)
		}
		if !c.addError("issuer "+issuer, err, "answers, with keys", "Check OIDC_ISSUER letter by letter against the issuer member of its discovery document, and that this machine may reach it.") {
			continue
		}
		answer, err := c.fetchHeader(ctx, http.DefaultClient, strings.TrimSuffix(issuer, "/")+"/.well-known/openid-configuration")
		if err != nil {
			continue
		}
		if date, err := http.ParseTime(answer.Get("Date")); err == nil {
			c.checkClockSkew("clock of "+issuer, time.Until(date))
		}
	}
}

// fetchHeader returns the header of a successful response.
func (c *checker) fetchHeader(ctx context.Context, client *http.Client, address string) (http.Header, error) {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, http.NoBody)
	if err != nil {
		return nil, fetch.ErrorWithoutAddress(err)
	}
	answer, err := client.Do(request)
	if err != nil {
		return nil, fetch.ErrorWithoutAddress(err) // the address may hold a key
	}
	defer answer.Body.Close()
	_, _ = io.CopyN(io.Discard, answer.Body, 1<<16)
	if answer.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("it answers %s", answer.Status)
	}
	return answer.Header, nil
}

func (c *checker) checkFeeds(ctx context.Context) {
	feeds, err := c.feedAddresses()
	if err != nil {
		c.addResult("feeds", checkFail, err.Error(), "Correct PARAPET_FEEDS.")
		return
	}
	for _, f := range feeds {
		_, err := c.fetchHeader(ctx, c.egressGuard.Client(checkTimeout, egress.FollowRedirects), f.URL)
		c.addError("feed "+f.Source+" "+fetch.DisplayAddress(f.URL), err, "answers", "Open the address from this machine; it must be public and https.")
	}
	if len(feeds) == 0 {
		c.addResult("feeds", checkWarn, "none is polled", "Name feeds in PARAPET_FEEDS, unless observations are posted.")
	}
}

func (c *checker) checkFileStore(ctx context.Context) {
	store, err := filestore.Open(c.settings.Files)
	if err == nil {
		c.files = store
		ctx, cancel := context.WithTimeout(ctx, checkTimeout)
		defer cancel()
		err = testFileStore(ctx, store)
	}
	c.addError("attachments", err, "written, read and deleted", "Check that PARAPET_FILES exists and that this process may write there.")
}

func testFileStore(ctx context.Context, store filestore.Store) error {
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
