// Package devpg runs a private Postgres for development and tests from the programs
// installed on this machine, so that the first command needs no prepared database, role
// or password. The server listens on a Unix socket in a folder that only its user can
// enter, never on TCP, and stops with the process that started it. It is not for
// production: it trusts its clients.
package devpg

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

const (
	superuser = "postgres"
	port      = "5432" // only part of the socket's file name
	// maxSocketPath is below the kernels' limits of 104 (macOS) and 108 (Linux) bytes.
	maxSocketPath = 100
	startTimeout  = time.Minute // a server that says nothing for so long has failed
	// cannotConnectNow is the SQLSTATE of a server that starts, recovers or ends.
	cannotConnectNow = "57P03"
)

// Options of a server. The zero value is a temporary server for tests.
type Options struct {
	// DataDir keeps the database in this folder. Empty means a temporary folder that is
	// removed with the server. For root, a folder that the server's user cannot enter is
	// replaced by one below /var/cache/parapet with a derived name.
	DataDir string
	// Fresh discards the data of an earlier run in DataDir.
	Fresh bool
	// Durable survives a power failure. Without it fsync, synchronous_commit and
	// full_page_writes are off: several times faster, and safe if the process is killed
	// but not if the machine is.
	Durable bool
	// Memory keeps a temporary folder in memory if the machine has 4 GiB to spare.
	Memory bool
	// Log receives the server's log. Nil discards it.
	Log io.Writer
}

// Server is a running Postgres.
type Server struct {
	dataDir      string
	socketDir    string
	tempDirs     []string // folders to remove after the stop
	lock         *os.File
	installation installation
	process      *serverProcess
	stopOnce     sync.Once
	stopErr      error
}

// Start runs a server and returns when it accepts connections: about half a second for a
// new folder, 50 ms for a kept one. The texts of NotInstalledError, InUseError and
// VersionError state what to do. Cancelling the context ends the start, not the server;
// call Stop for that.
func Start(ctx context.Context, options Options) (*Server, error) {
	server := &Server{}
	if err := server.startServer(ctx, options); err != nil {
		return nil, errors.Join(err, server.Stop(context.WithoutCancel(ctx)))
	}
	return server, nil
}

func (s *Server) startServer(ctx context.Context, options Options) error {
	owner, err := findServerUser()
	if err != nil {
		return err
	}
	if err := s.claimFolder(ctx, options, owner); err != nil {
		return err
	}
	if err := s.choosePrograms(ctx, owner); err != nil {
		return err
	}
	if err := s.initDataDir(ctx, owner, options.Durable); err != nil {
		return err
	}
	if s.socketDir, err = s.chooseSocketDir(owner); err != nil {
		return err
	}
	if s.process, err = launchPostmaster(s.installation, owner, s.postmasterArgs(options.Durable), options.Log); err != nil { //nolint:contextcheck // the context ends the start, not the server
		return err
	}
	return s.awaitReady(ctx)
}

// claimFolder selects the data folder and locks it for this process.
func (s *Server) claimFolder(ctx context.Context, options Options, owner serverUser) error {
	var err error
	if options.DataDir == "" {
		dir, made := "", false
		if options.Memory {
			dir, made = makeMemoryDir(owner)
		}
		if !made {
			if dir, err = makeTempDir(owner); err != nil {
				return err
			}
		}
		s.dataDir, s.tempDirs = filepath.Join(dir, "data"), []string{dir}
		s.lock, err = lockDataDir(s.dataDir)
		return err
	}
	if s.dataDir, err = owner.locate(options.DataDir); err != nil {
		return err
	}
	if s.lock, err = lockDataDir(s.dataDir); err != nil {
		return err
	}
	if err := awaitRelease(ctx, s.dataDir); err != nil {
		return err
	}
	if options.Fresh {
		return removeDataDir(s.dataDir)
	}
	return nil
}

func (s *Server) choosePrograms(ctx context.Context, owner serverUser) error {
	version, err := folderVersion(s.dataDir)
	if err != nil {
		return err
	}
	if s.installation, err = findInstallation(ctx, owner, version); err != nil {
		return err
	}
	if version != 0 && version != s.installation.major {
		return &VersionError{DataDir: s.dataDir, FolderMajor: version, InstalledMajor: s.installation.major}
	}
	return nil
}

// chooseSocketDir returns the data folder, unless its path is too long for a socket.
func (s *Server) chooseSocketDir(owner serverUser) (string, error) {
	if len(s.dataDir)+len("/.s.PGSQL."+port) <= maxSocketPath {
		return s.dataDir, nil
	}
	dir, err := owner.makeDir("/tmp", "parapet-")
	if err == nil {
		s.tempDirs = append(s.tempDirs, dir)
	}
	return dir, err
}

func (s *Server) postmasterArgs(durable bool) []string {
	settings := []string{
		"listen_addresses=", "port=" + port, "unix_socket_directories=" + s.socketDir,
		"max_connections=300",              // go test runs packages in parallel on one server
		"timezone=GMT", "log_timezone=GMT", // UTC by the name that needs no zone files, which slim images lack
		"jit=off", // compiling costs more than these queries, and its library may be missing
	}
	if durable {
		settings = append(settings, "backend_flush_after=1MB") // see "Settings and processes" in RUNBOOK.md
	} else {
		settings = append(settings, "fsync=off", "synchronous_commit=off", "full_page_writes=off")
	}
	args := []string{"-D", s.dataDir}
	for _, setting := range settings {
		args = append(args, "-c", setting)
	}
	return args
}

// awaitReady waits by connecting, the only reliable sign of readiness. A server that says
// that it is starting may take as long as it needs: it recovers from a crash.
func (s *Server) awaitReady(ctx context.Context) error {
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for silentSince := time.Now(); ; {
		conn, err := s.connectOnce(ctx)
		if err == nil {
			return conn.Close(ctx)
		}
		var refused *pgconn.PgError
		if errors.As(err, &refused) && refused.Code == cannotConnectNow {
			silentSince = time.Now()
		}
		if time.Since(silentSince) > startTimeout {
			return fmt.Errorf("postgres is not ready: %w", err)
		}
		select {
		case <-s.process.done:
			return fmt.Errorf("postgres ended while it was starting: %w", s.process.exitError())
		case <-ctx.Done():
			return fmt.Errorf("postgres is not ready: %w: %w", ctx.Err(), err)
		case <-tick.C:
		}
	}
}

func (s *Server) connectOnce(ctx context.Context) (*pgx.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	return pgx.Connect(ctx, s.URL(superuser))
}

// URL returns the address of a database on the server, for pgx and psql. The database
// postgres always exists.
func (s *Server) URL(database string) string {
	query := url.Values{"host": {s.socketDir}, "port": {port}}
	address := url.URL{Scheme: "postgres", User: url.User(superuser), Path: "/" + database, RawQuery: query.Encode()}
	return address.String()
}

// DataDir returns the folder of the database.
func (s *Server) DataDir() string { return s.dataDir }

// Done is closed when the server has ended, by Stop or by itself.
func (s *Server) Done() <-chan struct{} { return s.process.done }

// Stop disconnects clients, ends the server and removes temporary folders. When the
// context ends first the server is killed without a checkpoint. Calling it again does
// nothing.
func (s *Server) Stop(ctx context.Context) error {
	s.stopOnce.Do(func() {
		if s.process != nil {
			s.stopErr = s.process.shutDown(ctx)
		}
		for _, dir := range s.tempDirs {
			s.stopErr = errors.Join(s.stopErr, os.RemoveAll(dir))
		}
		if s.lock != nil {
			s.stopErr = errors.Join(s.stopErr, unlockDataDir(s.lock))
		}
	})
	return s.stopErr
}
