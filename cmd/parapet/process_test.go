package main

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"fmt"
	"io"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/stretchr/testify/require"

	"parapet/internal/devissuer"
	"parapet/jobs/rail"
	"parapet/model/kernel/actor"
	"parapet/model/modeltest"
)

// processGroup is several server processes that share one database.
type processGroup struct {
	*modeltest.Bundle

	token       string // acme's
	sourceToken string // may post observations
	environment []string
}

// newProcessGroup returns a group without processes.
func newProcessGroup(t testing.TB, settings ...string) *processGroup {
	t.Helper()
	return newProcessGroupOn(t, modeltest.New(t), settings...)
}

func newProcessGroupOn(t testing.TB, bundle *modeltest.Bundle, settings ...string) *processGroup {
	t.Helper()
	c := &processGroup{Bundle: bundle}
	issuer, address := newIssuer(t)
	var err error
	c.token, err = issuer.Token("acme")
	require.NoError(t, err)
	c.sourceToken, err = issuer.Token("source")
	require.NoError(t, err)
	keys := modeltest.Keys()
	c.environment = append([]string{
		"DATABASE_URL=" + c.URL, "OIDC_ISSUER=" + address, "PARAPET_LISTEN=127.0.0.1:0", "PARAPET_FILES=" + c.Files,
		"PARAPET_SEAL_KEYS=" + keys.Seal[0].ID + ":" + base64.StdEncoding.EncodeToString(keys.Seal[0].Secret),
		"PARAPET_FINGERPRINT_KEY=" + base64.StdEncoding.EncodeToString(keys.Fingerprint),
		"PARAPET_RAIL=" + rail.SimulatorName, "PARAPET_RATE_LIMIT=0", "PARAPET_CONNECTIONS=8",
		"PARAPET_SIMULATOR_SETTLES_AFTER=0s", // tests report themselves
		"PARAPET_MORATORIA=false",            // most tests bind after an earthquake
	}, settings...)
	return c
}

func newIssuer(t testing.TB) (issuer *devissuer.Issuer, address string) {
	t.Helper()
	server := httptest.NewUnstartedServer(nil)
	address = "http://" + server.Listener.Addr().String()
	var scopes []string
	for _, scope := range actor.PartnerScopes() {
		scopes = append(scopes, string(scope))
	}
	issuer, err := devissuer.New(devissuer.Options{
		Issuer: address, Audience: "parapet", Clients: []devissuer.Client{
			{ID: "acme", Scopes: scopes, Partner: "acme"}, {ID: "source", Scopes: []string{string(actor.ScopeObservationsWrite)}},
		},
	})
	require.NoError(t, err)
	server.Config.Handler = issuer.Handler()
	server.Start()
	t.Cleanup(server.Close)
	return issuer, address
}

// serverProcess is a running server.
type serverProcess struct {
	base   string // http://127.0.0.1:port
	log    *logBuffer
	exited chan struct{} // closed when the process has ended

	command *exec.Cmd
	once    sync.Once
}

// startProcess runs the test binary as another process and returns when it serves: as
// parapet, as rehearsal, which allows addresses on this machine, or as the bank.
func (c *processGroup) startProcess(t testing.TB, as string) *serverProcess {
	t.Helper()
	return c.startProgram(t, "", as)
}

// startProgram is startProcess for another program; empty for the test binary.
func (c *processGroup) startProgram(t testing.TB, program, as string) *serverProcess {
	t.Helper()
	var err error
	if program == "" {
		program, err = os.Executable()
		require.NoError(t, err)
	}
	p := &serverProcess{log: &logBuffer{}, exited: make(chan struct{}), command: exec.CommandContext(t.Context(), program, "serve")}
	p.command.Env = append(c.environment, processRoleVariable+"="+as)
	_, err = p.command.StdinPipe() // the process ends when it is closed
	require.NoError(t, err)
	said, err := p.command.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, p.command.Start())
	t.Cleanup(p.killNow)
	serving := make(chan string, 1)
	go p.readOutput(said, serving)
	select {
	case address := <-serving:
		require.NotEmpty(t, address, "the process ended: %s", p.log)
		p.base = "http://" + address
	case <-time.After(time.Minute):
		t.Fatalf("the process does not serve: %s", p.log)
	}
	return p
}

// readOutput stores the output of the process and sends its address; it sends nothing if
// the process ends before.
func (p *serverProcess) readOutput(said io.Reader, serving chan<- string) {
	defer close(p.exited)
	defer close(serving)
	lines := bufio.NewScanner(said)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		_, _ = p.log.Write(append(lines.Bytes(), '\n'))
		var line struct {
			Message string `json:"msg"`
			Address string `json:"address"`
		}
		if strings.Contains(lines.Text(), `"serving"`) && json.Unmarshal(lines.Bytes(), &line) == nil && line.Message == "serving" {
			serving <- line.Address
		}
	}
}

// killNow kills the process, as a crash does, without a chance to write anything.
func (p *serverProcess) killNow() {
	p.once.Do(func() {
		_ = p.command.Process.Kill()
		_ = p.command.Wait()
	})
}

// suspend stops the process and returns when none of its threads runs any more: SIGSTOP
// takes effect only when each thread is next scheduled, and until then it could send.
func (p *serverProcess) suspend(t *testing.T) {
	t.Helper()
	require.NoError(t, p.command.Process.Signal(syscall.SIGSTOP))
	require.Eventually(t, func() bool {
		threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", p.command.Process.Pid))
		return err == nil && len(threads) > 0 && !slices.ContainsFunc(threads, isRunningThread)
	}, time.Minute, time.Millisecond, "the process does not stop")
}

// isRunningThread reports whether a thread, given by its stat file, is not stopped.
func isRunningThread(stat string) bool {
	text, err := os.ReadFile(stat)
	_, state, found := bytes.Cut(text, []byte(") ")) // the name of the program is in parentheses
	return err == nil && (!found || state[0] != 'T')
}

// resume lets a suspended process run again.
func (p *serverProcess) resume(t *testing.T) {
	t.Helper()
	require.NoError(t, p.command.Process.Signal(syscall.SIGCONT))
}

// logBuffer is a log with many writers and one reader.
type logBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (j *logBuffer) Write(line []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.Write(line)
}

func (j *logBuffer) String() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.String()
}

// lastLine returns the last line.
func (j *logBuffer) lastLine() string {
	lines := strings.Split(strings.TrimSpace(j.String()), "\n")
	return lines[len(lines)-1]
}
