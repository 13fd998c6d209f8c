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
	standby := &Server{installation: s.installation}
	if err := standby.followPrimary(ctx, s); err != nil {
		return nil, errors.Join(err, standby.Stop(context.WithoutCancel(ctx)))
	}
	return standby, nil
}

func (s *Server) followPrimary(ctx context.Context, primary *Server) error {
	owner, err := findServerUser()
	if err != nil {
		return err
	}
	if err := s.copyBaseBackup(ctx, primary, owner, "--write-recovery-conf"); err != nil {
		return err
	}
	return s.launchCopy(ctx, owner)
}

// Backup copies the server's files into a new folder, as a base backup does. restore
// starts a server on a copy, which is removed with that server.
func (s *Server) Backup(ctx context.Context) (restore func(context.Context) (*Server, error), err error) {
	owner, err := findServerUser()
	if err != nil {
		return nil, err
	}
	copied := &Server{installation: s.installation}
	if err := copied.copyBaseBackup(ctx, s, owner); err != nil {
		return nil, errors.Join(err, copied.Stop(context.WithoutCancel(ctx)))
	}
	return func(ctx context.Context) (*Server, error) {
		if err := copied.launchCopy(ctx, owner); err != nil {
			return nil, errors.Join(err, copied.Stop(context.WithoutCancel(ctx)))
		}
		return copied, nil
	}, nil
}

func (s *Server) copyBaseBackup(ctx context.Context, from *Server, owner serverUser, options ...string) error {
	dir, err := makeTempDir(owner)
	if err != nil {
		return err
	}
	s.dataDir, s.tempDirs = filepath.Join(dir, "data"), []string{dir}
	args := append([]string{
		"-D", s.dataDir, "-h", from.socketDir, "-p", port, "-U", superuser,
		"-X", "stream", "--checkpoint=fast", "--no-sync",
	}, options...)
	cmd := exec.CommandContext(ctx, filepath.Join(s.installation.dir, "pg_basebackup"), args...)
	cmd.Env, cmd.Dir, cmd.SysProcAttr = s.installation.environment(), dir, owner.processAttributes()
	runtime.LockOSThread() // see initDataDir
	out, err := cmd.CombinedOutput()
	runtime.UnlockOSThread()
	if err != nil {
		return fmt.Errorf("pg_basebackup: %w: %s", err, strings.TrimSpace(string(out)))
	}
	err = os.Remove(filepath.Join(s.dataDir, ".s.PGSQL."+port+".lock")) // lock of the other server's socket
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

func (s *Server) launchCopy(ctx context.Context, owner serverUser) (err error) {
	if s.socketDir, err = s.chooseSocketDir(owner); err != nil {
		return err
	}
	if s.process, err = launchPostmaster(s.installation, owner, s.postmasterArgs(false), nil); err != nil { //nolint:contextcheck // the context ends the start, not the server
		return err
	}
	return s.awaitReady(ctx)
}

// Promote promotes a standby to primary.
func (s *Server) Promote(ctx context.Context) error {
	return executeStatement(ctx, s.URL(superuser), "select pg_promote()")
}

// Suspend stops every process of the server without ending it: connections stay open
// without responses. thaw resumes the processes.
func (s *Server) Suspend(ctx context.Context) (thaw func(), err error) {
	conn, err := pgx.Connect(ctx, s.URL(superuser))
	if err != nil {
		return nil, err
	}
	postmaster := s.process.cmd.Process.Pid
	if err := syscall.Kill(postmaster, syscall.SIGSTOP); err != nil { // from here on it starts no process
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

// FailoverURL returns the address of a database on two servers, for clients that select
// the writable one.
func FailoverURL(one, other *Server, database string) string {
	hosts := one.socketDir + "," + other.socketDir
	return "postgres://" + superuser + "@/" + database + "?host=" + hosts + "&port=" + port + "," + port + "&target_session_attrs=read-write"
}

// HasReplayed reports whether a standby has replayed the primary's log up to lsn.
func (s *Server) HasReplayed(ctx context.Context, lsn string) (yes bool) {
	conn, err := pgx.Connect(ctx, s.URL(superuser))
	if err != nil {
		return false
	}
	defer conn.Close(ctx)
	err = conn.QueryRow(ctx, "select pg_last_wal_replay_lsn() >= $1::pg_lsn", lsn).Scan(&yes)
	return err == nil && yes
}
