package devpg

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
)

// serverUser is the account that runs the server. Postgres refuses to run as root, so
// root uses an unprivileged account; other users run it themselves.
type serverUser struct {
	name        string
	uid         int
	gid         int
	isOtherUser bool // the process is root and the account is another one
}

// findServerUser returns user postgres, else nobody, for root; otherwise the caller.
func findServerUser() (serverUser, error) {
	if uid := os.Geteuid(); uid != 0 {
		return serverUser{name: "uid " + strconv.Itoa(uid), uid: uid, gid: os.Getegid()}, nil
	}
	for _, name := range []string{"postgres", "nobody"} {
		found, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, uidErr := strconv.Atoi(found.Uid)
		gid, gidErr := strconv.Atoi(found.Gid)
		if err := errors.Join(uidErr, gidErr); err != nil {
			return serverUser{}, fmt.Errorf("user %s: %w", name, err)
		}
		return serverUser{name: name, uid: uid, gid: gid, isOtherUser: true}, nil
	}
	return serverUser{}, errors.New("postgres does not run as root, and this machine has neither a user postgres nor a user nobody")
}

// processAttributes makes a child run as the account in its own process group, so that
// Ctrl-C in the terminal reaches only the parent, which stops the server last.
func (a serverUser) processAttributes() *syscall.SysProcAttr {
	attr := &syscall.SysProcAttr{Setpgid: true}
	if a.isOtherUser {
		attr.Credential = &syscall.Credential{Uid: uint32(a.uid), Gid: uint32(a.gid)}
	}
	dieWithParent(attr)
	return attr
}

// makePrivate makes the folder private to the account.
func (a serverUser) makePrivate(dir string) error {
	if a.isOtherUser {
		if err := os.Chown(dir, a.uid, a.gid); err != nil {
			return err
		}
	}
	return os.Chmod(dir, 0o700)
}

// makeDir creates a temporary folder that is private to the account.
func (a serverUser) makeDir(base, pattern string) (string, error) {
	dir, err := os.MkdirTemp(base, pattern)
	if err != nil {
		return "", err
	}
	if err := a.makePrivate(dir); err != nil {
		return "", errors.Join(err, os.RemoveAll(dir))
	}
	return dir, nil
}

// locate returns the folder in which the account keeps the data, without symbolic links.
func (a serverUser) locate(dataDir string) (string, error) {
	resolved, err := resolveDataDir(dataDir)
	if err != nil {
		return "", err
	}
	return a.reachableFolder(resolved)
}

// reachableFolder returns the folder, or a replacement that the account can enter: root's
// temporary folders are closed to other users, and their modes are not changed. The same
// folder always has the same replacement.
func (a serverUser) reachableFolder(dataDir string) (string, error) {
	if a.checkAccess(filepath.Dir(dataDir)) == nil {
		return dataDir, nil
	}
	sum := sha256.Sum256([]byte(dataDir))
	instead := filepath.Join("/var/cache/parapet", "for-"+hex.EncodeToString(sum[:6]), filepath.Base(dataDir))
	if err := os.MkdirAll(filepath.Dir(instead), 0o755); err != nil { // other users may traverse it; the data folder itself is private
		return "", err
	}
	return instead, a.checkAccess(filepath.Dir(instead))
}

// checkAccess returns an error if the account cannot enter the folder. It checks only an
// unprivileged account of root, for which root's home with mode 0700 is the common
// problem.
func (a serverUser) checkAccess(dir string) error {
	if !a.isOtherUser {
		return nil
	}
	for at := dir; ; at = filepath.Dir(at) {
		info, err := os.Stat(at)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if err == nil && !a.canEnter(info) {
			return fmt.Errorf("user %s, who runs Postgres for root, cannot enter %s: choose a folder outside it", a.name, at)
		}
		if at == filepath.Dir(at) {
			return nil
		}
	}
}

func (a serverUser) canEnter(info fs.FileInfo) bool {
	mode := info.Mode().Perm()
	owner, ok := info.Sys().(*syscall.Stat_t)
	switch {
	case ok && int(owner.Uid) == a.uid:
		return mode&0o100 != 0
	case ok && int(owner.Gid) == a.gid:
		return mode&0o010 != 0
	default:
		return mode&0o001 != 0
	}
}
