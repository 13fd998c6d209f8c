package main

import (
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"regexp"
	"strings"
)

// addKeys generates the keys that are missing.
func (o *initOptions) addKeys() {
	for setting, prefix := range map[string]string{"PARAPET_SEAL_KEYS": "k1:", "PARAPET_FINGERPRINT_KEY": "", "PARAPET_RECEIPT_KEYS": "active:"} {
		if o.values[setting] == "" {
			o.values[setting] = prefix + base64.StdEncoding.EncodeToString(randomBytes(32))
		}
	}
}

const environmentFileHead = `# The settings of a Parapet server. This file holds keys: only the server may read it.
# A shell reads it by: set -a; . ./parapet.env; set +a
# systemd reads it as EnvironmentFile=, containers by --env-file.
# A line that begins with # shows a default; parapet doctor checks all settings.
`

// writeEnvironmentFile writes all settings with their meaning; those without a value are
// comments. Errors: fs.ErrExist.
func writeEnvironmentFile(path string, s settings, values map[string]string) error {
	var text strings.Builder
	text.WriteString(environmentFileHead)
	for row := range settingRows(s) {
		line := "#" + row.name + "=" + row.defaultValue
		if value := values[row.name]; value != "" {
			quoted, err := quoteValue(value)
			if err != nil {
				return usageError{fmt.Errorf("%s: %w", row.name, err)}
			}
			line = row.name + "=" + quoted
		}
		_, _ = fmt.Fprintf(&text, "\n# %s\n%s\n", row.help, line)
	}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600) //nolint:gosec // the operator chooses the file
	if err != nil {
		return err
	}
	_, err = file.WriteString(text.String())
	return errors.Join(err, file.Sync(), file.Close())
}

// plainValue needs no quotes in any reader of the file.
var plainValue = regexp.MustCompile(`^[A-Za-z0-9_@%+=:,./?-]*$`)

// quoteValue returns a value as a shell, systemd and compose read it.
func quoteValue(value string) (string, error) {
	switch {
	case plainValue.MatchString(value):
		return value, nil
	case strings.ContainsAny(value, "'\\\r\n\x00"):
		return "", errors.New("a quote, a backslash or a line break cannot be written so that every reader understands it; percent-encode it in an address")
	}
	return "'" + value + "'", nil
}
