package devpg

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
)

// oldestMajor is the oldest supported major version.
const oldestMajor = 14

// NotInstalledError means that this machine has no usable Postgres server; its text
// states what to do. There is no fallback to another engine, because SQL must be tested
// on Postgres.
type NotInstalledError struct {
	SearchedDirs []string // every folder that was searched
}

// Error states what to install or configure.
func (e *NotInstalledError) Error() string {
	return fmt.Sprintf("no Postgres server (version %d or newer) was found on this machine. %s, "+
		"or name the folder of its programs in PARAPET_PG_BIN, or set DATABASE_URL to a running server",
		oldestMajor, installAdvice())
}

func installAdvice() string {
	if runtime.GOOS == "darwin" {
		return "Install it with: brew install postgresql@17"
	}
	return "Install it with: apt-get install postgresql (Debian, Ubuntu) or dnf install postgresql-server (Fedora, RHEL)"
}

// installation is one installation: initdb and postgres of the same build.
type installation struct {
	dir   string
	major int
}

func (b installation) initdbPath() string   { return filepath.Join(b.dir, "initdb") }
func (b installation) postgresPath() string { return filepath.Join(b.dir, "postgres") }

// libraryDirs returns the folders of shared libraries next to the server, for a Debian
// package unpacked with dpkg -x. It is nil for an installed server, which must use the
// system's libraries.
func (b installation) libraryDirs() []string {
	root, unpacked := strings.CutSuffix(filepath.Dir(filepath.Dir(b.dir)), "/usr/lib/postgresql")
	if !unpacked || root == "" {
		return nil
	}
	usr, _ := filepath.Glob(root + "/usr/lib/*-linux-gnu*")
	lib, _ := filepath.Glob(root + "/lib/*-linux-gnu*")
	return append(usr, lib...)
}

// environment of initdb and postgres. It omits the caller's PG* variables and locale, so
// that the same folder works the same everywhere.
func (b installation) environment() []string {
	env := []string{"PATH=" + os.Getenv("PATH"), "LC_ALL=C", "TZ=UTC"}
	if dirs := b.libraryDirs(); len(dirs) > 0 {
		env = append(env, "LD_LIBRARY_PATH="+strings.Join(dirs, ":"))
	}
	return env
}

// findInstallation selects the installation to run as the account. want is the major
// version of a kept data folder, which only the same major version can open; 0 selects
// the newest.
func findInstallation(ctx context.Context, owner serverUser, want int) (installation, error) {
	dirs := candidateDirs()
	if named := os.Getenv("PARAPET_PG_BIN"); named != "" {
		dirs = []string{named}
	}
	var usable []installation
	for _, dir := range dirs {
		b, err := checkInstallation(ctx, dir, owner)
		switch {
		case err == nil:
			usable = append(usable, b)
		case os.Getenv("PARAPET_PG_BIN") != "":
			return installation{}, fmt.Errorf("PARAPET_PG_BIN: %w", err)
		}
	}
	if len(usable) == 0 {
		return installation{}, &NotInstalledError{SearchedDirs: dirs}
	}
	if i := slices.IndexFunc(usable, func(b installation) bool { return b.major == want }); i >= 0 {
		return usable[i], nil
	}
	return slices.MaxFunc(usable, func(a, b installation) int { return a.major - b.major }), nil
}

// candidateDirs returns the folders in which package managers install the server, in
// order of preference: the one on PATH comes first.
func candidateDirs() []string {
	var dirs []string
	if path, err := exec.LookPath("postgres"); err == nil {
		if real, err := filepath.EvalSymlinks(path); err == nil {
			dirs = append(dirs, filepath.Dir(real))
		}
	}
	patterns := []string{
		"/usr/lib/postgresql/*/bin", // Debian, Ubuntu
		"/usr/pgsql-*/bin",          // PGDG packages for Fedora and RHEL
		"/opt/homebrew/opt/postgresql@*/bin",
		"/usr/local/opt/postgresql@*/bin",
		"/Applications/Postgres.app/Contents/Versions/*/bin",
	}
	if cache, err := os.UserCacheDir(); err == nil {
		unpacked := filepath.Join(cache, "parapet", "postgres")
		patterns = append(patterns, unpacked+"/usr/lib/postgresql/*/bin", unpacked+"/*/usr/lib/postgresql/*/bin")
	}
	for _, pattern := range patterns {
		found, _ := filepath.Glob(pattern)
		dirs = append(dirs, found...)
	}
	return dirs
}

var versionLine = regexp.MustCompile(`\(PostgreSQL\) (\d+)`)

// checkInstallation returns an error unless the folder holds a server that the account
// can run.
func checkInstallation(ctx context.Context, dir string, owner serverUser) (installation, error) {
	b := installation{dir: dir}
	for _, program := range []string{b.initdbPath(), b.postgresPath()} {
		if _, err := os.Stat(program); errors.Is(err, fs.ErrNotExist) {
			return b, fmt.Errorf("%s does not exist", program)
		}
	}
	if err := owner.checkAccess(dir); err != nil {
		return b, err
	}
	cmd := exec.CommandContext(ctx, b.postgresPath(), "--version")
	cmd.Env = b.environment()
	out, err := cmd.CombinedOutput()
	if err != nil {
		return b, fmt.Errorf("%s --version: %w: %s", b.postgresPath(), err, strings.TrimSpace(string(out)))
	}
	match := versionLine.FindSubmatch(out)
	if match == nil {
		return b, fmt.Errorf("%s --version says %q", b.postgresPath(), out)
	}
	if b.major, err = strconv.Atoi(string(match[1])); err != nil || b.major < oldestMajor {
		return b, fmt.Errorf("%s is version %s, and %d is the oldest that works", b.postgresPath(), match[1], oldestMajor)
	}
	return b, nil
}
