package main

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Every setting that is wrong is named once with what is allowed, whether it cannot be
// parsed or is out of bounds.
func TestSettingsOutOfBoundsAreRefused(t *testing.T) {
	t.Parallel()
	values, want := map[string]string{}, map[string]string{
		"PARAPET_SIGN_IN_MAX_AGE=-1m":              "a duration such as 90s or 15m, at least 0s",
		"PARAPET_CONNECTIONS=0":                    "a whole number, at least 1",
		"PARAPET_REPLICA_CONNECTIONS=0":            "a whole number, at least 1",
		"PARAPET_RAIL_KEY_WINDOW=-1s":              "a duration such as 90s or 15m, at least 0s",
		"PARAPET_RAIL_RATE=-1":                     "a whole number, at least 0",
		"PARAPET_RAIL_FILES_EVERY=0":               "a duration such as 90s or 15m, at least 1s",
		"PARAPET_FEED_EVERY=999ms":                 "a duration such as 90s or 15m, at least 1s",
		"PARAPET_REHEARSAL=maybe":                  "true or false",
		"PARAPET_SIMULATOR_SETTLES_AFTER=soon":     "a duration such as 90s or 15m, at least 0s",
		"PARAPET_DELIVERY_DELAY_DIVISOR=0":         "a whole number, at least 1",
		"PARAPET_RATE_LIMIT=-5":                    "a whole number, at least 0",
		"PARAPET_RATE_BURST=0":                     "a whole number, at least 1",
		"PARAPET_UNAUTHENTICATED_RATE_LIMIT=-1":    "a whole number, at least 0",
		"PARAPET_UNAUTHENTICATED_RATE_BURST=0":     "a whole number, at least 1",
		"PARAPET_UPLOADS_PER_PARTNER=15":           "a whole number, at least 16",
		"PARAPET_UPLOADS=1":                        "a whole number, at least 16",
		"PARAPET_WAITERS_PER_PARTNER=0":            "a whole number, at least 1",
		"PARAPET_WAITERS=-1":                       "a whole number, at least 1",
		"PARAPET_GRAPHQL_COST=1e3":                 "a whole number, at least 1",
		"PARAPET_RAIL_BATCH=99999999999999999999x": "a whole number",
	}
	var lines []string
	for pair, use := range want {
		name, value, _ := strings.Cut(pair, "=")
		values[name], lines = value, append(lines, name+": use "+use)
	}
	_, err := parseSettings(values)
	require.ElementsMatch(t, lines, strings.Split(err.Error(), "\n"))
	for row := range settingRows(settings{}) {
		if row.defaultValue != "" {
			values[row.name] = row.defaultValue
		}
	}
	_, err = parseSettings(values)
	require.NoError(t, err, "the defaults of %v", slices.Sorted(maps.Keys(values)))
}

func TestLowestValuesOfSettingsAreAccepted(t *testing.T) {
	t.Parallel()
	s, err := parseSettings(map[string]string{"PARAPET_SIGN_IN_MAX_AGE": "0", "PARAPET_UPLOADS": "16", "PARAPET_CONNECTIONS": "1", "PARAPET_RATE_LIMIT": "0", "PARAPET_FEED_EVERY": "1s"})
	require.NoError(t, err)
	require.EqualValues(t, 16, s.UploadLimit)
}
