package modeltest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"parapet/internal/devpg"
	"parapet/migrations"
	"parapet/model"
	"parapet/model/kernel/actor"
	"parapet/model/kernel/dbpool"
	"parapet/model/partners"
	"parapet/model/quoting/product"
)

// AddressVariable names the environment variable with the address of a server on which
// the tests may create databases. Without it they start their own.
const AddressVariable = "PARAPET_TEST_DATABASE_URL"

// Environment variables that let many test processes share one server and one template,
// so that each starts at once: a process with serveVariable creates both and prints
// their names (see serveTemplate); the others get the name of the template in addition
// to the address.
const (
	templateVariable = "PARAPET_TEST_TEMPLATE"
	serveVariable    = "PARAPET_TEST_SERVE"
)

// cluster is this process's server, started by the first test that needs it.
var cluster = struct {
	once     sync.Once
	err      error
	server   *devpg.Server // nil for a server started elsewhere
	address  string
	template string
	shared   bool // the template belongs to another process
	ordinal  atomic.Int64
	run      string // distinguishes this process's databases from others
}{run: uuid.NewString()[:8]}

// Main runs the tests of a package and stops what they started. It returns the exit
// code for os.Exit.
func Main(m *testing.M) int {
	run := m.Run
	if os.Getenv(serveVariable) != "" {
		run = serveTemplate
	}
	code := run()
	if err := stopServers(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "modeltest:", err)
		return max(code, 1)
	}
	return code
}

func stopServers(ctx context.Context) error {
	if bookServer.server != nil {
		if err := bookServer.server.Stop(ctx); err != nil {
			return err
		}
	}
	switch {
	case cluster.server != nil:
		return cluster.server.Stop(ctx)
	case cluster.shared:
		return nil
	case cluster.template != "":
		conn, err := pgx.Connect(ctx, cluster.address)
		if err != nil {
			return err
		}
		defer conn.Close(ctx)
		_, err = conn.Exec(ctx, "ALTER DATABASE "+pgx.Identifier{cluster.template}.Sanitize()+" IS_TEMPLATE false")
		return errors.Join(err, devpg.DropDatabase(ctx, cluster.address, cluster.template))
	default:
		return nil
	}
}

// serverAddress returns the server's address. It starts the server if necessary.
func serverAddress(t testing.TB) string {
	t.Helper()
	cluster.once.Do(prepareCluster)
	require.NoError(t, cluster.err)
	return cluster.address
}

// prepareCluster starts a server and creates the template, unless they are given.
func prepareCluster() {
	if cluster.address = os.Getenv(AddressVariable); cluster.address == "" {
		if cluster.server, cluster.err = devpg.Start(context.Background(), devpg.Options{Memory: true}); cluster.err != nil {
			return
		}
		cluster.address = cluster.server.URL("postgres")
	}
	if cluster.template = os.Getenv(templateVariable); cluster.template != "" {
		cluster.shared = true
		return
	}
	cluster.err = buildTemplate(context.Background())
}

// serveTemplate prints the variables by which other processes find this one's server
// and template, and keeps both until its standard input ends.
func serveTemplate() int {
	cluster.once.Do(prepareCluster)
	if cluster.err != nil {
		fmt.Fprintln(os.Stderr, "modeltest:", cluster.err)
		return 1
	}
	_, _ = fmt.Fprintf(os.Stdout, "%s=%s\n%s=%s\n", AddressVariable, cluster.address, templateVariable, cluster.template)
	_, _ = io.Copy(io.Discard, os.Stdin)
	return 0
}

// buildTemplate creates the template: migrated, with products and partners. It belongs
// to this process alone, so that no outdated template is cloned.
func buildTemplate(ctx context.Context) error {
	name := "parapet_template_" + cluster.run
	if err := devpg.CreateDatabase(ctx, cluster.address, name); err != nil {
		return fmt.Errorf("create template: %w", err)
	}
	url, err := devpg.WithDatabase(cluster.address, name)
	if err != nil {
		return err
	}
	if err := seedDatabase(ctx, url); err != nil {
		return fmt.Errorf("build template: %w", err)
	}
	if err := devpg.SealTemplate(ctx, cluster.address, name); err != nil {
		return fmt.Errorf("seal template: %w", err)
	}
	cluster.template = name
	return nil
}

func seedDatabase(ctx context.Context, url string) error {
	db, err := dbpool.Open(ctx, url, 4)
	if err != nil {
		return err
	}
	defer db.Close()
	if _, err := migrations.Apply(ctx, db.Pool); err != nil {
		return err
	}
	if _, err := db.Pool.Exec(ctx, jobsTable); err != nil {
		return err
	}
	service, err := model.New(model.Config{DB: db, Queue: Queue{}, Keys: Keys()})
	if err != nil {
		return err
	}
	for _, partner := range []string{"acme", "globex"} {
		if _, _, err := service.Partners.Register(ctx, actor.System(), partners.Request{Slug: partner, Name: partner}); err != nil {
			return err
		}
	}
	if _, err := service.Products.PublishShipped(ctx); err != nil {
		return err
	}
	return publishWithoutWaiting(ctx, service)
}

// noWaitingVersion is the version of the station products without a waiting period:
// tests use the days of a cover from its first day on. WithShippedProducts deletes it.
const noWaitingVersion = 99

// publishWithoutWaiting publishes that version.
func publishWithoutWaiting(ctx context.Context, service *model.Service) error {
	for _, p := range product.Shipped() {
		document := string(p.Source())
		if !strings.Contains(document, "\n  waiting_period: P7D\n") {
			continue
		}
		document = strings.NewReplacer("\n  waiting_period: P7D\n", "\n  waiting_period: P0D\n", "\n  shortest_term: P8D\n", "\n  shortest_term: P1D\n",
			fmt.Sprintf("\nversion: %d\n", p.Version()), fmt.Sprintf("\nversion: %d\n", noWaitingVersion)).Replace(document)
		if _, _, err := service.Products.Publish(ctx, actor.System(), []byte(document)); err != nil {
			return err
		}
	}
	return nil
}

// DataFolder returns a folder for the data of a server, which is removed at the end of the
// test. Unlike t.TempDir, the account that runs Postgres for root can enter it, so that
// Postgres keeps no data outside it.
func DataFolder(t testing.TB) string {
	t.Helper()
	folder, err := os.MkdirTemp("", "parapet-test-")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(folder)) })
	require.NoError(t, os.Chmod(folder, 0o711)) //nolint:gosec // others may pass, not read
	return folder
}

// URL returns the address of an empty database that is dropped at the end of the test.
func URL(t testing.TB) string {
	t.Helper()
	server, name := serverAddress(t), nextDatabaseName()
	require.NoError(t, devpg.CreateDatabase(t.Context(), server, name))
	return registerDatabase(t, server, name)
}

// Database returns a connected, migrated and seeded database that is dropped at the end
// of the test: a pool of at most size connections, and its address for other processes.
func Database(t testing.TB, size int32) (*dbpool.Database, string) {
	t.Helper()
	server, name := serverAddress(t), nextDatabaseName()
	require.NoError(t, devpg.CloneDatabase(t.Context(), server, name, cluster.template))
	url := registerDatabase(t, server, name)
	db, err := dbpool.Open(t.Context(), url, size)
	require.NoError(t, err)
	t.Cleanup(func() { closeDatabase(t, db, closeTimeout) })
	return db, url
}

// closeTimeout is how long a test waits for its own connections at its end.
const closeTimeout = 10 * time.Second

// closeDatabase closes the pools of a test. A pool waits for every connection in use,
// and a failed test may have left a transaction open: without a limit the run would
// hang until its timeout and never show the failure.
func closeDatabase(t testing.TB, db *dbpool.Database, limit time.Duration) {
	t.Helper()
	closed := make(chan struct{})
	go func() {
		db.Close()
		close(closed)
	}()
	select {
	case <-closed:
	case <-time.After(limit):
		t.Errorf("the test has left %d connections in use", db.Pool.Stat().AcquiredConns())
	}
}

func nextDatabaseName() string {
	return fmt.Sprintf("parapet_%s_%d", cluster.run, cluster.ordinal.Add(1))
}

func registerDatabase(t testing.TB, server, name string) string {
	t.Helper()
	t.Cleanup(func() { require.NoError(t, devpg.DropDatabase(context.Background(), server, name)) })
	url, err := devpg.WithDatabase(server, name)
	require.NoError(t, err)
	return url
}
