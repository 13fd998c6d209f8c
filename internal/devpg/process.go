package devpg

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"
)

// initDataDir creates the data folder if it is missing. It builds the folder under
// another name and renames it, so that a killed start leaves no partial folder.
func (s *Server) initDataDir(ctx context.Context, owner serverUser, durable bool) error {
	if version, err := folderVersion(s.dataDir); err != nil || version != 0 {
		return err
	}
	building := s.dataDir + ".new"
	if err := os.RemoveAll(building); err != nil {
		return err
	}
	if err := os.Mkdir(building, 0o700); err != nil {
		return err
	}
	if err := owner.makePrivate(building); err != nil {
		return err
	}
	args := []string{"-D", building, "-U", superuser, "-A", "trust", "-E", "UTF8", "--locale=C"}
	if !durable {
		args = append(args, "--no-sync")
	}
	cmd := exec.CommandContext(ctx, s.installation.initdbPath(), args...)
	cmd.Env, cmd.Dir, cmd.SysProcAttr = s.installation.environment(), building, owner.processAttributes()
	// Stay on this thread until initdb has ended: otherwise its parent would seem to have
	// died.
	runtime.LockOSThread()
	out, err := cmd.CombinedOutput()
	runtime.UnlockOSThread()
	if err != nil {
		return fmt.Errorf("initdb: %w: %s", err, strings.TrimSpace(string(out)))
	}
	if err := os.Remove(s.dataDir); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("%s exists and is not a Postgres data folder: choose another folder: %w", s.dataDir, err)
	}
	return os.Rename(building, s.dataDir)
}

// serverProcess is the running postmaster.
type serverProcess struct {
	cmd  *exec.Cmd
	log  *logTail
	done chan struct{} // closed when the process has ended; err is set before
	err  error
}

// launchPostmaster starts the postmaster from a goroutine that keeps its thread until the
// postmaster has ended, see dieWithParent.
func launchPostmaster(programs installation, owner serverUser, args []string, log io.Writer) (*serverProcess, error) {
	p := &serverProcess{cmd: exec.CommandContext(context.Background(), programs.postgresPath(), args...), log: &logTail{output: log}, done: make(chan struct{})}
	p.cmd.Env, p.cmd.Dir, p.cmd.SysProcAttr = programs.environment(), "/", owner.processAttributes()
	p.cmd.Stdout, p.cmd.Stderr = p.log, p.log
	p.cmd.WaitDelay = 5 * time.Second // children of a killed postmaster may keep the log open
	started := make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := p.cmd.Start()
		started <- err
		if err == nil {
			p.err = p.cmd.Wait()
			close(p.done)
		}
	}()
	if err := <-started; err != nil {
		return nil, fmt.Errorf("starting %s: %w", programs.postgresPath(), err)
	}
	return p, nil
}

// exitError returns how the process ended, with the end of its log.
func (p *serverProcess) exitError() error {
	return fmt.Errorf("%w: %s", p.err, p.log.String())
}

// shutDown requests a fast shutdown and kills the server if the context ends first.
func (p *serverProcess) shutDown(ctx context.Context) error {
	if err := p.cmd.Process.Signal(syscall.SIGINT); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	select {
	case <-p.done:
		return nil
	case <-ctx.Done():
		// SIGQUIT instead of SIGKILL, so that the postmaster also ends its children.
		err := p.cmd.Process.Signal(syscall.SIGQUIT)
		<-p.done
		return errors.Join(ctx.Err(), err)
	}
}

// logTail forwards the log and keeps its end for the error of a failed start.
type logTail struct {
	mu        sync.Mutex
	output    io.Writer
	lastBytes []byte
}

const maxTailBytes = 2048

// Write never fails: a full disk under the log must not stop the server.
func (t *logTail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.output != nil {
		_, _ = t.output.Write(p)
	}
	t.lastBytes = append(t.lastBytes, p...)
	if extra := len(t.lastBytes) - maxTailBytes; extra > 0 {
		t.lastBytes = append(t.lastBytes[:0], t.lastBytes[extra:]...)
	}
	return len(p), nil
}

func (t *logTail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(bytes.TrimSpace(t.lastBytes))
}
