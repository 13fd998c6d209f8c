package devpg_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"parapet/internal/devpg"
)

// keeperVariable names the data folder when this test program runs itself as a process
// that starts a server and is then killed.
const keeperVariable = "PARAPET_DEVPG_KEEPER"

// inMemory is its value for a temporary folder in memory.
const inMemory = "in memory"

func TestMain(m *testing.M) {
	if dir := os.Getenv(keeperVariable); dir != "" {
		options := devpg.Options{DataDir: dir}
		if dir == inMemory {
			options = devpg.Options{Memory: true}
		}
		server, err := devpg.Start(context.Background(), options)
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		fmt.Println(server.URL("postgres"))
		<-server.Done()
		return
	}
	os.Exit(m.Run())
}

// newDataFolder returns a folder that the user who runs Postgres for root can enter,
// unlike t.TempDir.
func newDataFolder(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "parapet-devpg-")
	require.NoError(t, err)
	require.NoError(t, os.Chmod(dir, 0o755))
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return filepath.Join(dir, "data")
}

func startServer(t *testing.T, options devpg.Options) *devpg.Server {
	t.Helper()
	server, err := devpg.Start(t.Context(), options)
	if missing := (*devpg.NotInstalledError)(nil); errors.As(err, &missing) {
		t.Fatal(err)
	}
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, server.Stop(context.Background())) })
	return server
}

func queryText(t *testing.T, address, query string) string {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), address)
	require.NoError(t, err)
	defer conn.Close(context.Background())
	var answer string
	require.NoError(t, conn.QueryRow(t.Context(), query).Scan(&answer))
	return answer
}

func executeStatement(t *testing.T, address, statement string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), address)
	require.NoError(t, err)
	defer conn.Close(context.Background())
	_, err = conn.Exec(t.Context(), statement)
	require.NoError(t, err)
}

func TestTemporaryServer(t *testing.T) {
	t.Parallel()
	server := startServer(t, devpg.Options{})
	address := server.URL("postgres")
	for setting, want := range map[string]string{
		"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off", "listen_addresses": "",
		"server_encoding": "UTF8", "lc_collate": "C", "timezone": "GMT",
	} {
		require.Equal(t, want, queryText(t, address, "SELECT current_setting('"+setting+"')"), setting)
	}
	require.NoError(t, server.Stop(t.Context()))
	require.NoError(t, server.Stop(t.Context()), "a second stop does nothing")
	require.NoDirExists(t, filepath.Dir(server.DataDir()))
	<-server.Done()
}

func TestKeptFolder(t *testing.T) {
	t.Parallel()
	dir := newDataFolder(t)
	requireData(t, dir, false)
	server := startServer(t, devpg.Options{DataDir: dir, Durable: true})
	requireData(t, dir, true)
	require.Equal(t, "on", queryText(t, server.URL("postgres"), "SELECT current_setting('fsync')"))
	require.NoError(t, server.CreateDatabase(t.Context(), "parapet"))
	require.NoError(t, server.CreateDatabase(t.Context(), "parapet"), "one that exists is left alone")
	executeStatement(t, server.URL("parapet"), "CREATE TABLE kept (n int)")
	require.NoError(t, server.Stop(t.Context()))

	again := startServer(t, devpg.Options{DataDir: dir})
	require.Equal(t, "0", queryText(t, again.URL("parapet"), "SELECT count(*)::text FROM kept"))
	require.NoError(t, again.Stop(t.Context()))

	fresh := startServer(t, devpg.Options{DataDir: dir, Fresh: true})
	require.Equal(t, "0", queryText(t, fresh.URL("postgres"), "SELECT count(*)::text FROM pg_database WHERE datname = 'parapet'"))
}

// requireData checks the result of HasData for a folder.
func requireData(t *testing.T, dir string, has bool) {
	t.Helper()
	found, err := devpg.HasData(dir)
	require.NoError(t, err)
	require.Equal(t, has, found)
}

func TestFolderInUse(t *testing.T) {
	t.Parallel()
	dir := newDataFolder(t)
	server := startServer(t, devpg.Options{DataDir: dir})
	for _, fresh := range []bool{false, true} {
		_, err := devpg.Start(t.Context(), devpg.Options{DataDir: dir, Fresh: fresh})
		var inUse *devpg.InUseError
		require.ErrorAs(t, err, &inUse)
		require.Positive(t, inUse.PID)
	}
	require.Equal(t, "1", queryText(t, server.URL("postgres"), "SELECT '1'"), "the first is undisturbed")
}

func TestFolderOfAnotherVersion(t *testing.T) {
	t.Parallel()
	dir := newDataFolder(t)
	require.NoError(t, os.MkdirAll(dir, 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "PG_VERSION"), []byte("9.6\n"), 0o600))
	_, err := devpg.Start(t.Context(), devpg.Options{DataDir: dir})
	var version *devpg.VersionError
	require.ErrorAs(t, err, &version)
	require.Equal(t, 9, version.FolderMajor)
	startServer(t, devpg.Options{DataDir: dir, Fresh: true})
}

func TestFolderOfSomethingElse(t *testing.T) {
	t.Parallel()
	dir := newDataFolder(t)
	require.NoError(t, os.MkdirAll(dir, 0o755))
	photo := filepath.Join(dir, "photo.jpg")
	require.NoError(t, os.WriteFile(photo, nil, 0o600))
	for _, fresh := range []bool{false, true} {
		_, err := devpg.Start(t.Context(), devpg.Options{DataDir: dir, Fresh: fresh})
		require.ErrorContains(t, err, "choose another folder")
		require.FileExists(t, photo)
	}
}

// Another process may have reused the process id in a stale postmaster.pid.
func TestStaleProcessID(t *testing.T) {
	t.Parallel()
	dir := newDataFolder(t)
	require.NoError(t, startServer(t, devpg.Options{DataDir: dir}).Stop(t.Context()))
	stale := strconv.Itoa(os.Getpid()) + "\n" + dir + "\n1\n5432\n" + dir + "\n\n  1 1\nready   \n"
	require.NoError(t, os.WriteFile(filepath.Join(dir, "postmaster.pid"), []byte(stale), 0o600))
	startServer(t, devpg.Options{DataDir: dir})
}

func TestLongPathTakesShortSocket(t *testing.T) {
	t.Parallel()
	server := startServer(t, devpg.Options{DataDir: filepath.Join(newDataFolder(t), strings.Repeat("deep/", 30), "data")})
	require.Equal(t, "1", queryText(t, server.URL("postgres"), "SELECT '1'"))
}

// startKeeper starts a process that keeps a server, and returns the server's address.
func startKeeper(t *testing.T, dir string) (address string, parent *exec.Cmd) {
	t.Helper()
	if _, err := os.Stat("/proc/self/cwd"); err != nil {
		t.Skip("only Linux notifies a child of its parent's death")
	}
	parent = exec.Command(os.Args[0])
	parent.Env = append(os.Environ(), keeperVariable+"="+dir)
	parent.Stderr = os.Stderr
	out, err := parent.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, parent.Start())
	t.Cleanup(func() { _ = parent.Process.Kill() })
	address, err = bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	return strings.TrimSpace(address), parent
}

// The parent is killed without a chance to clean up; the next start finds the folder free
// at once.
func TestKilledParentTakesServerWithIt(t *testing.T) {
	t.Parallel()
	dir := newDataFolder(t)
	address, parent := startKeeper(t, dir)
	executeStatement(t, address, "CREATE TABLE committed (n int)")
	require.NoError(t, parent.Process.Kill())
	_ = parent.Wait()

	again := startServer(t, devpg.Options{DataDir: dir})
	require.Equal(t, "0", queryText(t, again.URL("postgres"), "SELECT count(*)::text FROM committed"))
}

func TestFoldersInMemoryOfKilledProcessesAreRemoved(t *testing.T) {
	t.Parallel()
	address, parent := startKeeper(t, inMemory)
	data := queryText(t, address, "SELECT current_setting('data_directory')")
	if !strings.HasPrefix(data, "/dev/shm/") {
		t.Skip("the machine has too little memory to spare")
	}
	old := time.Now().Add(-2 * time.Minute)
	require.NoError(t, os.Chtimes(data+".lock", old, old))
	second := startServer(t, devpg.Options{Memory: true})
	require.Equal(t, "1", queryText(t, address, "SELECT '1'"), "its process lives")
	require.NoError(t, parent.Process.Kill())
	_ = parent.Wait()
	require.Eventually(t, func() bool {
		_, err := os.Stat(filepath.Join(data, "postmaster.pid"))
		return err != nil
	}, 20*time.Second, 20*time.Millisecond, "Postgres ends with the process")
	startServer(t, devpg.Options{Memory: true})
	require.NoDirExists(t, filepath.Dir(data))
	require.DirExists(t, second.DataDir())
	require.NoError(t, second.Stop(t.Context()))
	require.NoDirExists(t, filepath.Dir(second.DataDir()))
}

func TestCloneDatabase(t *testing.T) {
	t.Parallel()
	server := startServer(t, devpg.Options{})
	require.NoError(t, server.CreateDatabase(t.Context(), "template"))
	executeStatement(t, server.URL("template"), "CREATE TABLE copied (n int)")
	address := server.URL("postgres")
	require.NoError(t, devpg.SealTemplate(t.Context(), address, "template"))
	require.NoError(t, server.CloneDatabase(t.Context(), `a "clone"`, "template"))
	clone, err := devpg.WithDatabase(address, `a "clone"`)
	require.NoError(t, err)
	require.Equal(t, "0", queryText(t, clone, "SELECT count(*)::text FROM copied"))
	require.NoError(t, devpg.DropDatabase(t.Context(), address, `a "clone"`))
}
