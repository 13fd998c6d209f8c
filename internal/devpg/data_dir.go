package devpg

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// InUseError means that another process uses the data folder.
type InUseError struct {
	DataDir string
	PID     int // of the server, 0 if unknown
}

// Error states what to do.
func (e *InUseError) Error() string {
	holder := "another process"
	if e.PID > 0 {
		holder = fmt.Sprintf("a Postgres with process id %d", e.PID)
	}
	return fmt.Sprintf("the data folder %s is in use by %s: stop that one, or choose another folder", e.DataDir, holder)
}

// VersionError means that the data folder was written by another major version.
type VersionError struct {
	DataDir                     string
	FolderMajor, InstalledMajor int // major versions
}

// Error states what to do.
func (e *VersionError) Error() string {
	return fmt.Sprintf("the data folder %s belongs to Postgres %d and the installed server is %d: discard it by starting fresh, "+
		"or install Postgres %[2]d, or choose another folder", e.DataDir, e.FolderMajor, e.InstalledMajor)
}

// DefaultDataDir is the default folder of a kept database: parapet/data under the user's
// cache folder. For root it is /var/cache/parapet/data, because the server runs as
// another user that cannot enter root's home.
func DefaultDataDir() string {
	if os.Geteuid() == 0 {
		return "/var/cache/parapet/data"
	}
	if cache, err := os.UserCacheDir(); err == nil {
		return filepath.Join(cache, "parapet", "data")
	}
	return filepath.Join(os.TempDir(), fmt.Sprintf("parapet-%d", os.Geteuid()), "data")
}

// resolveDataDir creates the folder's parent and returns the path without symbolic links,
// as Postgres reports it.
func resolveDataDir(dataDir string) (string, error) {
	dataDir, err := filepath.Abs(dataDir)
	if err != nil {
		return "", err
	}
	if real, err := filepath.EvalSymlinks(dataDir); err == nil {
		return real, nil
	}
	if err := os.MkdirAll(filepath.Dir(dataDir), 0o755); err != nil {
		return "", err
	}
	parent, err := filepath.EvalSymlinks(filepath.Dir(dataDir))
	return filepath.Join(parent, filepath.Base(dataDir)), err
}

// HasData reports whether Start would find a database in the folder. For root it checks
// the folder in which the server's account keeps the data.
func HasData(dataDir string) (bool, error) {
	owner, err := findServerUser()
	if err != nil {
		return false, err
	}
	if dataDir, err = owner.locate(dataDir); err != nil {
		return false, err
	}
	version, err := folderVersion(dataDir)
	return version != 0, err
}

// makeTempDir creates a temporary folder that the account can enter.
func makeTempDir(owner serverUser) (string, error) {
	base := os.TempDir()
	if owner.checkAccess(base) != nil {
		base = "/tmp"
	}
	return owner.makeDir(base, "parapet-pg-")
}

// lockDataDir locks the folder for this process until the file is closed. The kernel
// releases the lock when the process dies.
func lockDataDir(dataDir string) (*os.File, error) {
	file, err := os.OpenFile(dataDir+".lock", os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		_ = file.Close()
		pid, _ := readPostmaster(dataDir)
		return nil, &InUseError{DataDir: dataDir, PID: pid.pid}
	}
	return file, nil
}

// unlockDataDir unlocks explicitly, because a child that is being forked still shares the
// file.
func unlockDataDir(file *os.File) error {
	return errors.Join(syscall.Flock(int(file.Fd()), syscall.LOCK_UN), file.Close())
}

// folderVersion returns the major version that wrote the folder, 0 without one.
func folderVersion(dataDir string) (int, error) {
	text, err := os.ReadFile(filepath.Join(dataDir, "PG_VERSION"))
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	major, _, _ := strings.Cut(strings.TrimSpace(string(text)), ".")
	return strconv.Atoi(major)
}

// removeDataDir removes only a data folder: a folder with other contents was named by
// mistake.
func removeDataDir(dataDir string) error {
	entries, err := os.ReadDir(dataDir)
	if errors.Is(err, fs.ErrNotExist) || err == nil && len(entries) == 0 {
		return nil
	}
	if err != nil {
		return err
	}
	if version, err := folderVersion(dataDir); err != nil || version == 0 {
		return fmt.Errorf("%s is not a Postgres data folder and is left alone: choose another folder", dataDir)
	}
	return os.RemoveAll(dataDir)
}

// postmaster is the content of a running server's postmaster.pid.
type postmaster struct {
	pid      int
	stopping bool
}

func readPostmaster(dataDir string) (postmaster, error) {
	text, err := os.ReadFile(filepath.Join(dataDir, "postmaster.pid"))
	if errors.Is(err, fs.ErrNotExist) {
		return postmaster{}, nil
	}
	if err != nil {
		return postmaster{}, err
	}
	lines := strings.Split(string(text), "\n")
	pid, _ := strconv.Atoi(strings.TrimSpace(lines[0]))
	return postmaster{pid: pid, stopping: strings.Contains(string(text), "\nstopping")}, nil
}

// isRunning reports whether the process id is a server of this folder. Process ids are
// reused, especially in containers, and zombies stay listed until their parent reaps
// them. On Linux the working directory decides: a postmaster works in its data folder,
// and a process whose directory is unreadable belongs to another user.
func (p postmaster) isRunning(dataDir string) bool {
	if p.pid <= 0 {
		return false
	}
	if runtime.GOOS == "linux" {
		cwd, err := os.Readlink(fmt.Sprintf("/proc/%d/cwd", p.pid))
		return err == nil && cwd == dataDir
	}
	err := syscall.Kill(p.pid, 0)
	return err == nil || errors.Is(err, syscall.EPERM)
}

// awaitRelease returns when no server uses the folder. It waits for a server that is
// shutting down because its parent was just killed.
func awaitRelease(ctx context.Context, dataDir string) error {
	started := time.Now()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		server, err := readPostmaster(dataDir)
		if err != nil {
			return err
		}
		if !server.isRunning(dataDir) {
			return clearStale(dataDir, server)
		}
		timeout := 500 * time.Millisecond // time for the signal to arrive
		if server.stopping {
			timeout = 15 * time.Second
		}
		if time.Since(started) > timeout {
			return &InUseError{DataDir: dataDir, PID: server.pid}
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
}

// clearStale removes a dead server's pid file if another process has reused its process
// id, which Postgres would take for a running server.
func clearStale(dataDir string, server postmaster) error {
	if server.pid <= 0 || errors.Is(syscall.Kill(server.pid, 0), syscall.ESRCH) {
		return nil // Postgres removes it after checking its shared memory
	}
	return os.Remove(filepath.Join(dataDir, "postmaster.pid"))
}
