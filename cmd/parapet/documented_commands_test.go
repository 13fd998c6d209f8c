package main

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"
)

// documentedCommand matches a command in a code span, or at the start of a line of a block.
var documentedCommand = regexp.MustCompile("(?m)(?:`|^\\s*)(?:bin/|\\./)?parapet ([a-z][^`\n|;&>]*)")

var plainWord = regexp.MustCompile("^[a-z][a-z-]*$")

// TestDocumentedCommandsExist compares the commands and flags that documents name with
// those of the program.
func TestDocumentedCommandsExist(t *testing.T) {
	t.Parallel()
	var files, faults []string
	for _, pattern := range []string{"*.md", "docs/*.md", "rest/*.md", "internal/deploy/*.md"} {
		found, err := filepath.Glob("../../" + pattern)
		require.NoError(t, err)
		files = append(files, found...)
	}
	root, checked := newRootCommand(&bytes.Buffer{}), 0
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		for _, match := range documentedCommand.FindAllStringSubmatch(strings.ReplaceAll(string(text), "\\\n", " "), -1) {
			if strings.HasPrefix(match[1], "redaction") {
				continue // the first line of a hash
			}
			if fault := commandFault(root, strings.Fields(match[1])); fault != "" {
				faults = append(faults, file+": parapet "+match[1]+": "+fault)
			}
			checked++
		}
	}
	require.Empty(t, faults)
	require.Greater(t, checked, 100)
}

// commandFault says what a documented command has that the program does not have.
func commandFault(root *cobra.Command, words []string) string {
	command, rest, err := root.Find(words)
	switch {
	case err != nil:
		return err.Error()
	case !command.HasParent():
		return "no such command"
	case command.HasSubCommands() && len(rest) > 0 && rest[0] != "help" && plainWord.MatchString(rest[0]):
		return "no such verb"
	}
	for _, word := range words {
		if name, isFlag := strings.CutPrefix(word, "--"); isFlag && name != "help" {
			name, _, _ = strings.Cut(strings.TrimRight(name, ".,:)]"), "=")
			if command.Flags().Lookup(name) == nil {
				return "no flag --" + name
			}
		}
	}
	return ""
}
