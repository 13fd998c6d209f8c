package arch_test

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// documentedPath is a file or folder that a document names: a link of this repository or
// a path in code style.
var documentedPath = regexp.MustCompile("\\]\\(([^):#]+)\\)|`((?:\\.ci|cmd|console|graph|internal|jobs|migrations|model|rest)/[a-zA-Z0-9_./-]+)`")

// TestTreeHasTheFilesThatDocumentsName checks the length of the README and that its paths
// exist.
func TestTreeHasTheFilesThatDocumentsName(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"README.md", "CONTRIBUTING.md", "RUNBOOK.md", "CHANGELOG.md", "SECURITY.md"} {
		content, err := os.ReadFile("../../" + name)
		require.NoError(t, err)
		for _, match := range documentedPath.FindAllStringSubmatch(string(content), -1) {
			path := match[1] + match[2]
			if strings.Contains(path, "NNNN") {
				continue // a pattern and not a file
			}
			_, err := os.Stat("../../" + path)
			require.NoError(t, err, "%s names a path that does not exist", name)
		}
		switch name {
		case "README.md":
			require.LessOrEqual(t, len(strings.Fields(string(content))), 1200, "%s is a landing page: move details to rest/*.md or RUNBOOK.md", name)
		case "CONTRIBUTING.md":
			require.LessOrEqual(t, strings.Count(string(content), "\n"), 60, "%s is read in five minutes: shorten it", name)
		}
	}
}
