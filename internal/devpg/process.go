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

// initialise makes the data folder unless it is there. It is built beside its
// place and moved in whole, so a start that is killed leaves nothing half made.
func (s *Server) initialise(ctx context.Context, as account, durable bool) error {
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
	if err := as.own(building); err != nil {
		return err
	}
	args := []string{"-D", building, "-U", superuser, "-A", "trust", "-E", "UTF8", "--locale=C"}
	if !durable {
		args = append(args, "--no-sync")
	}
	cmd := exec.CommandContext(ctx, s.programs.initdb(), args...)
	cmd.Env, cmd.Dir, cmd.SysProcAttr = s.programs.environment(), building, as.attributes()
	// On this thread until initdb has ended, or its parent would seem to die.
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

// process is the running postmaster.
type process struct {
	cmd  *exec.Cmd
	log  *tail
	done chan struct{} // closed when it has ended; err is set before
	err  error
}

// launch starts the postmaster from a goroutine that keeps its thread until the
// postmaster has ended: see dieWithParent.
func launch(programs binaries, as account, args []string, log io.Writer) (*process, error) {
	p := &process{cmd: exec.CommandContext(context.Background(), programs.postgres(), args...), log: &tail{to: log}, done: make(chan struct{})}
	p.cmd.Env, p.cmd.Dir, p.cmd.SysProcAttr = programs.environment(), "/", as.attributes()
	p.cmd.Stdout, p.cmd.Stderr = p.log, p.log
	p.cmd.WaitDelay = 5 * time.Second // a killed postmaster's children may hold the log open
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
		return nil, fmt.Errorf("starting %s: %w", programs.postgres(), err)
	}
	return p, nil
}

// failure is how the process ended, with the last it said.
func (p *process) failure() error {
	return fmt.Errorf("%w: %s", p.err, p.log.String())
}

// stop asks for a fast shutdown and, when the context ends first, kills.
func (p *process) stop(ctx context.Context) error {
	if err := p.cmd.Process.Signal(syscall.SIGINT); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	select {
	case <-p.done:
		return nil
	case <-ctx.Done():
		// SIGQUIT, not SIGKILL: the postmaster takes its children with it.
		err := p.cmd.Process.Signal(syscall.SIGQUIT)
		<-p.done
		return errors.Join(ctx.Err(), err)
	}
}

// tail hands the log on and remembers its end, for the error of a failed start.
type tail struct {
	mu   sync.Mutex
	to   io.Writer
	last []byte
}

const tailBytes = 2048

// Write never fails: a full disk under the log must not stop the server.
func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.to != nil {
		_, _ = t.to.Write(p)
	}
	t.last = append(t.last, p...)
	if extra := len(t.last) - tailBytes; extra > 0 {
		t.last = append(t.last[:0], t.last[extra:]...)
	}
	return len(p), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(bytes.TrimSpace(t.last))
}
