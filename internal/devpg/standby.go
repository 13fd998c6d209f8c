package devpg

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"

	"github.com/jackc/pgx/v5"
)

// StartStandby starts a server that follows this one by streaming replication, for
// tests of a failover.
func (s *Server) StartStandby(ctx context.Context) (*Server, error) {
	standby := &Server{programs: s.programs}
	if err := standby.follow(ctx, s); err != nil {
		return nil, errors.Join(err, standby.Stop(context.WithoutCancel(ctx)))
	}
	return standby, nil
}

func (s *Server) follow(ctx context.Context, primary *Server) error {
	as, err := serverAccount()
	if err != nil {
		return err
	}
	if err := s.copyFrom(ctx, primary, as, "--write-recovery-conf"); err != nil {
		return err
	}
	return s.launch(ctx, as)
}

// Backup copies the server's files into a new folder, as a base backup does, and returns
// what starts a server on such a copy; the copy goes away with it.
func (s *Server) Backup(ctx context.Context) (restore func(context.Context) (*Server, error), err error) {
	as, err := serverAccount()
	if err != nil {
		return nil, err
	}
	copied := &Server{programs: s.programs}
	if err := copied.copyFrom(ctx, s, as); err != nil {
		return nil, errors.Join(err, copied.Stop(context.WithoutCancel(ctx)))
	}
	return func(ctx context.Context) (*Server, error) {
		if err := copied.launch(ctx, as); err != nil {
			return nil, errors.Join(err, copied.Stop(context.WithoutCancel(ctx)))
		}
		return copied, nil
	}, nil
}

func (s *Server) copyFrom(ctx context.Context, from *Server, as account, options ...string) error {
	dir, err := throwAway(as)
	if err != nil {
		return err
	}
	s.dataDir, s.temporary = filepath.Join(dir, "data"), []string{dir}
	args := append([]string{
		"-D", s.dataDir, "-h", from.socketDir, "-p", port, "-U", superuser,
		"-X", "stream", "--checkpoint=fast", "--no-sync",
	}, options...)
	cmd := exec.CommandContext(ctx, filepath.Join(s.programs.dir, "pg_basebackup"), args...)
	cmd.Env, cmd.Dir, cmd.SysProcAttr = s.programs.environment(), dir, as.attributes()
	runtime.LockOSThread() // see initialise
	out, err := cmd.CombinedOutput()
	runtime.UnlockOSThread()
	if err != nil {
		return fmt.Errorf("pg_basebackup: %w: %s", err, strings.TrimSpace(string(out)))
	}
	err = os.Remove(filepath.Join(s.dataDir, ".s.PGSQL."+port+".lock")) // of the socket of the other server
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

func (s *Server) launch(ctx context.Context, as account) (err error) {
	if s.socketDir, err = s.chooseSocketDir(as); err != nil {
		return err
	}
	if s.process, err = launch(s.programs, as, s.settings(false), nil); err != nil { //nolint:contextcheck // the context ends the start, not the server
		return err
	}
	return s.awaitReady(ctx)
}

// Promote makes a standby a primary.
func (s *Server) Promote(ctx context.Context) error {
	return execute(ctx, s.URL(superuser), "select pg_promote()")
}

// Freeze stops every process of the server without ending it: connections stay open and
// nobody answers. What it returns has them go on.
func (s *Server) Freeze(ctx context.Context) (thaw func(), err error) {
	conn, err := pgx.Connect(ctx, s.URL(superuser))
	if err != nil {
		return nil, err
	}
	postmaster := s.process.cmd.Process.Pid
	if err := syscall.Kill(postmaster, syscall.SIGSTOP); err != nil { // from here on it starts none
		return nil, err
	}
	rows, _ := conn.Query(ctx, "select pid::int from pg_stat_activity where backend_type <> 'client backend' or pid <> pg_backend_pid()")
	pids, err := pgx.CollectRows(rows, pgx.RowTo[int])
	for _, pid := range pids {
		err = errors.Join(err, syscall.Kill(pid, syscall.SIGSTOP))
	}
	own := int(conn.PgConn().PID())
	err = errors.Join(err, conn.Close(ctx))
	return func() {
		for _, pid := range append(pids, own, postmaster) {
			_ = syscall.Kill(pid, syscall.SIGCONT)
		}
	}, err
}

// Both is the address of a database on two servers, for clients that find the one that
// takes writes.
func Both(one, other *Server, database string) string {
	hosts := one.socketDir + "," + other.socketDir
	return "postgres://" + superuser + "@/" + database + "?host=" + hosts + "&port=" + port + "," + port + "&target_session_attrs=read-write"
}

// Replayed tells whether a standby has everything up to a place in the primary's log.
func (s *Server) Replayed(ctx context.Context, lsn string) (yes bool) {
	conn, err := pgx.Connect(ctx, s.URL(superuser))
	if err != nil {
		return false
	}
	defer conn.Close(ctx)
	err = conn.QueryRow(ctx, "select pg_last_wal_replay_lsn() >= $1::pg_lsn", lsn).Scan(&yes)
	return err == nil && yes
}
