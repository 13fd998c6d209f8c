package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"parapet/model/modeltest"
)

// countMoratoriumRules returns the number of shipped rules in a database.
func countMoratoriumRules(t *testing.T, a *app) (n int) {
	t.Helper()
	require.NoError(t, a.db.Pool.QueryRow(t.Context(), "select count(*) from moratorium_rules where not disabled").Scan(&n))
	return n
}

func TestDevelopmentHasMoratoriumRulesWhenAskedFor(t *testing.T) {
	t.Parallel()
	dir := modeltest.DataFolder(t)
	for _, asked := range []bool{true, false} {
		s, err := startStack(t.Context(), devOptions{listen: "127.0.0.1:0", dataDir: dir, quiet: true, withMoratoria: asked})
		require.NoError(t, err)
		rules := countMoratoriumRules(t, s.app)
		s.stopAll()
		require.Equal(t, map[bool]int{true: 2, false: 0}[asked], rules)
	}
}

func TestServeHasMoratoriumRulesUnlessTheyAreSwitchedOff(t *testing.T) {
	t.Parallel()
	c := newProcessGroup(t, "PARAPET_MORATORIA=true") // the later value of a setting counts
	c.startProcess(t, "parapet").killNow()
	rules, err := c.Service.Capacity.ListMoratoriumRules(t.Context(), c.Operator)
	require.NoError(t, err)
	require.Len(t, rules, 2)
	c.environment = append(c.environment, "PARAPET_MORATORIA=false")
	c.startProcess(t, "parapet").killNow()
	rules, err = c.Service.Capacity.ListMoratoriumRules(t.Context(), c.Operator)
	require.NoError(t, err)
	require.Empty(t, rules)
}

func TestMoratoriumRulesAreOnByDefault(t *testing.T) {
	t.Parallel()
	s, err := loadSettings()
	require.NoError(t, err)
	require.True(t, s.Moratoria)
}
