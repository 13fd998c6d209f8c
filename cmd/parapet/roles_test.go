package main

import (
	"context"
	"net/http"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"parapet/internal/devpg"
	"parapet/jobs"
	"parapet/model/kernel/dbpool"
	"parapet/model/modeltest"
)

// roles are the two database roles of internal/deploy/postgres/roles.sql, under other
// names: roles belong to a whole server.
type roles struct{ owner, service string } // addresses

// createRoles runs the file on a server of the tests.
func createRoles(t *testing.T) roles {
	t.Helper()
	text, err := os.ReadFile("../../internal/deploy/postgres/roles.sql")
	require.NoError(t, err)
	run := uuid.NewString()[:8]
	rename := strings.NewReplacer("parapet_owner", "owner_"+run, "parapet_service", "service_"+run, "database parapet", "database roles_"+run, ":'owner_password'", "'secret'", ":'service_password'", "'secret'")
	server, within, found := strings.Cut(rename.Replace(string(text)), "\\connect parapet\n")
	require.True(t, found)
	address := modeltest.URL(t)
	admin, err := pgx.Connect(t.Context(), address)
	require.NoError(t, err)
	t.Cleanup(func() {
		for _, statement := range []string{"drop database if exists roles_" + run + " with (force)", "drop role owner_" + run + ", service_" + run} {
			_, err := admin.Exec(context.Background(), statement)
			require.NoError(t, err)
		}
		require.NoError(t, admin.Close(context.Background()))
	})
	for line := range strings.Lines(server) {
		if strings.HasPrefix(line, "create ") { // the others are comments and commands of psql
			_, err := admin.Exec(t.Context(), line)
			require.NoError(t, err)
		}
	}
	as := func(user string) string {
		other, err := url.Parse(address)
		require.NoError(t, err)
		other.User, other.Path = url.UserPassword(user+run, "secret"), "/roles_"+run
		return other.String()
	}
	inside, err := devpg.WithDatabase(address, "roles_"+run)
	require.NoError(t, err)
	conn, err := pgx.Connect(t.Context(), inside)
	require.NoError(t, err)
	defer func() { _ = conn.Close(context.Background()) }()
	_, err = conn.Exec(t.Context(), within)
	require.NoError(t, err)
	return roles{owner: as("owner_"), service: as("service_")}
}

// The service runs with a role that owns nothing: from a quote to a paid claim, and all
// that its sweep does. That role can change no table and no line that is kept for ever.
func TestServiceRunsWithALimitedRole(t *testing.T) {
	t.Parallel()
	r := createRoles(t)
	b := modeltest.New(t, modeltest.OnServer(r.owner)) // the migrations run as the owner
	c := newProcessGroupOn(t, b, "DATABASE_URL="+r.service, "PARAPET_REHEARSAL=true")
	said, err := c.runCommand(t, "doctor")
	require.Contains(t, said, "at this release", "%v", err)
	require.Contains(t, said, "the role may read and write every table")
	month := time.Date(time.Now().UTC().Year(), time.Now().UTC().Month()+3, 1, 0, 0, 0, 0, time.UTC)
	_, err = b.DB.Pool.Exec(t.Context(), "drop table timeline_entries_"+month.Format("2006_01"))
	require.NoError(t, err)
	p := c.startProcess(t, "parapet")
	post := func(path, body string) (id string) {
		said := c.postJSON(t.Context(), p, path, path, body)
		require.Equal(t, http.StatusCreated, said.status, said.body)
		var record struct {
			ID string `json:"id"`
		}
		require.NoError(t, json.Unmarshal([]byte(said.body), &record))
		return record.ID
	}
	quote := post("/quotes", `{"product": "quake-circle", "context": {"partner": "acme", "location": {"latitude": 23.98, "longitude": 121.61}}}`)
	policy := post("/policies", `{"quote_id": "`+quote+`"}`)
	post("/payout_methods", `{"policy_id": "`+policy+`", "type": "iban", "currency": "USD", "iban": {"iban": "DE89370400440532013000"}, "beneficiary": {"name": "Lin", "country": "TW"}}`)
	post("/sandbox/observations", `{"source": "usgs", "kind": "earthquake", "source_event_id": "us1", "occurred_at": "`+time.Now().UTC().Format(time.RFC3339Nano)+`", "stage": "final",
		"location": {"latitude": 24.17, "longitude": 121.65}, "measures": {"magnitude": {"value": "6.4", "unit": "mw"}, "depth": {"value": "10.6", "unit": "km"}}}`)
	for what, sql := range map[string]string{
		"a payout is released":    "select exists (select from payouts where status in ('released', 'reconciled'))",
		"events are numbered":     "select not exists (select from event_outbox)",
		"partitions are added":    "select to_regclass('timeline_entries_" + month.Format("2006_01") + "') is not null",
		"the sweep has run":       "select exists (select from river.river_job where kind = 'sweep' and state = 'completed')",
		"no job fails":            "select not exists (select from river.river_job where errors is not null)",
		"invariants were checked": "select count(*) > 10 from invariant_checks",
	} {
		require.Eventually(t, func() bool {
			var yes bool
			require.NoError(t, b.DB.Pool.QueryRow(t.Context(), sql).Scan(&yes))
			return yes
		}, 2*time.Minute, 50*time.Millisecond, "%s: %s", what, p.log)
	}
	require.NotContains(t, p.log.String(), "permission denied")
	require.NotContains(t, p.log.String(), "must be owner")
	service, err := pgx.Connect(t.Context(), r.service)
	require.NoError(t, err)
	defer func() { _ = service.Close(context.Background()) }()
	_, err = service.Exec(t.Context(), "select analyze_partitioned('events')")
	require.NoError(t, err)
	for address, want := range map[string]bool{r.owner: true, r.service: false} {
		pool, err := pgxpool.New(t.Context(), address)
		require.NoError(t, err)
		owns, err := jobs.OwnsTables(t.Context(), pool)
		pool.Close()
		require.NoError(t, err)
		require.Equal(t, want, owns, "only the owner's server lets River rebuild its indexes at night")
	}
	_, err = service.Exec(t.Context(), "reindex index river.river_job_args_index")
	require.ErrorContains(t, err, "must be owner")
	for sql, says := range map[string]string{
		"select analyze_partitioned('claims')":                                          "is no partitioned table of ours",
		"alter table ledger_entries disable trigger all":                                "must be owner",
		"drop trigger audit_entries_insert_only on audit_entries":                       "must be owner",
		"truncate ledger_entries":                                                       "permission denied",
		"create table x (y int)":                                                        "permission denied",
		"create temporary table x (y int)":                                              "permission denied",
		"create schema x":                                                               "permission denied",
		"update ledger_entries set amount = 1":                                          "insert",
		"create or replace function refuse_change() returns trigger language sql as ''": "",
	} {
		_, err := service.Exec(t.Context(), sql)
		require.ErrorContains(t, err, says, sql)
	}
}

// A role that lacks a privilege of the service is reported before serve fails at a
// statement, and each privilege counts.
func TestRoleWithoutPrivilegesIsRefused(t *testing.T) {
	t.Parallel()
	r := createRoles(t)
	b := modeltest.New(t, modeltest.OnServer(r.owner), modeltest.WithoutChecks())
	service, err := pgxpool.New(t.Context(), r.service)
	require.NoError(t, err)
	t.Cleanup(service.Close)
	role := service.Config().ConnConfig.User
	for _, privilege := range []string{
		"select on table bun_migrations", "select on table schema_compatibility", "insert on table audit_entries", "insert on table claims", "update on table claims", "delete on table idempotency_keys",
		"insert on table river.river_job", "usage on sequence river.river_job_id_seq", "usage on sequence event_outbox_ordinal_seq", "usage on schema river",
	} {
		require.NoError(t, requirePrivileges(t.Context(), service), "before revoking %s", privilege)
		_, err := b.DB.Pool.Exec(t.Context(), "revoke "+privilege+" from "+role)
		require.NoError(t, err)
		require.ErrorContains(t, requirePrivileges(t.Context(), service), "the role "+role+" lacks privileges on ", privilege)
		_, err = b.DB.Pool.Exec(t.Context(), "grant "+privilege+" to "+role)
		require.NoError(t, err)
	}
	for _, unused := range []string{"update, delete on table ledger_entries", "insert, update, delete on table bun_migrations"} {
		_, err := b.DB.Pool.Exec(t.Context(), "revoke "+unused+" from "+role)
		require.NoError(t, err)
		require.NoError(t, requirePrivileges(t.Context(), service), unused)
	}
	_, err = b.DB.Pool.Exec(t.Context(), "revoke insert, update, delete on all tables in schema public from "+role)
	require.NoError(t, err)
	require.Regexp(t, `lacks privileges on public\.[a-z_]+, public\.[a-z_]+, public\.[a-z_]+, [0-9]+ more`, requirePrivileges(t.Context(), service))
	a := newCheckerApp(settings{DatabaseURL: r.service})
	t.Cleanup(a.closeAll)
	a.db, err = dbpool.Open(t.Context(), r.service, 2)
	require.NoError(t, err)
	require.ErrorContains(t, a.requireOurDatabase(t.Context()), "the role "+role+" lacks privileges on ", "serve refuses it")
	c := newProcessGroupOn(t, b, "DATABASE_URL="+r.service)
	said, err := c.runCommand(t, "doctor")
	require.Error(t, err)
	require.Regexp(t, `fail +privileges +the role `+role, said)
	require.Contains(t, said, "grant select, insert, update, delete on all tables")
	_, err = b.DB.Pool.Exec(t.Context(), "delete from bun_migrations where id = (select max(id) from bun_migrations)")
	require.NoError(t, err)
	said, err = c.runCommand(t, "migrate")
	require.Error(t, err)
	require.Contains(t, said, "run parapet migrate as the owner of the tables")
	require.NotContains(t, said, "SQLSTATE")
}
