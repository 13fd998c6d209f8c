package main

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"
)

// databaseServer is a test program that keeps a database server and a migrated template
// for all test runs, so that none has to create its own. The template is created by
// unmutated code.
type databaseServer struct {
	environment []string // variables with its address for test programs
	stdin       io.Closer
	cmd         *exec.Cmd
}

// startServer starts a server from the first suite that has one; without a server every
// test run starts its own.
func startServer(dir string, suites []string) *databaseServer {
	for _, suite := range suites {
		if s := startFrom(programPath(dir, suite), suite); s != nil {
			return s
		}
	}
	return &databaseServer{}
}

func startFrom(program, suite string) *databaseServer {
	cmd := exec.Command(program, "-test.run=^$") //nolint:gosec // the program that was built
	cmd.Dir, cmd.Stderr, cmd.Env = suite, os.Stderr, append(os.Environ(), "PARAPET_TEST_SERVE=true", "PARAPET_MUTANT=0")
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil || cmd.Start() != nil {
		return nil
	}
	s := &databaseServer{stdin: stdin, cmd: cmd}
	for lines := bufio.NewScanner(stdout); len(s.environment) < 2 && lines.Scan(); {
		if !strings.HasPrefix(lines.Text(), "PARAPET_TEST_") {
			break
		}
		s.environment = append(s.environment, lines.Text())
	}
	if len(s.environment) < 2 {
		s.stopServer()
		return nil
	}
	return s
}

// stopServer ends the server and waits until its folder is removed.
func (s *databaseServer) stopServer() {
	if s.cmd == nil {
		return
	}
	_ = s.stdin.Close()
	kill := time.AfterFunc(time.Minute, func() { _ = s.cmd.Process.Kill() })
	_ = s.cmd.Wait()
	kill.Stop()
}
