package auth

import (
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"parapet/model/kernel/actor"
)

// A token that was verified with keys which changed in the meantime is verified again.
func TestCacheDropsResultsOfEarlierKeys(t *testing.T) {
	t.Parallel()
	c := newActorCache()
	key, now := tokenHash("token"), time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)
	_, _, generation := c.get(key, now)
	c.clearAll() // the keys have changed
	c.put(key, actor.Actor{Name: "acme"}, now, now.Add(time.Hour), generation)
	_, found, generation := c.get(key, now)
	require.False(t, found)
	c.put(key, actor.Actor{Name: "acme"}, now, now.Add(time.Hour), generation)
	actor, found, _ := c.get(key, now)
	require.True(t, found)
	require.Equal(t, "acme", actor.Name)
}

// Tokens are cached for a minute, or until they expire; many valid tokens do not increase
// the memory, and tokens in use stay.
func TestCacheIsBounded(t *testing.T) {
	t.Parallel()
	c := newActorCache()
	now := time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)
	_, _, generation := c.get(tokenHash("0"), now)
	known := func(name string, at time.Time) bool {
		_, found, _ := c.get(tokenHash(name), at)
		return found
	}
	c.put(tokenHash("long"), actor.Actor{}, now, now.Add(time.Hour), generation)
	require.True(t, known("long", now.Add(cacheLifetime-1)))
	require.False(t, known("long", now.Add(cacheLifetime)))
	c.put(tokenHash("short"), actor.Actor{}, now, now.Add(time.Second), generation)
	require.True(t, known("short", now.Add(time.Second-1)))
	require.False(t, known("short", now.Add(time.Second)))

	c.put(tokenHash("used"), actor.Actor{}, now, now.Add(time.Hour), generation)
	for n := range 2 * cacheSize {
		c.put(tokenHash(strconv.Itoa(n)), actor.Actor{}, now, now.Add(time.Hour), generation)
		require.True(t, known("used", now))
	}
	require.Equal(t, cacheSize, c.entries.Len())
	require.False(t, known("0", now))
	require.True(t, known(strconv.Itoa(2*cacheSize-1), now))
	c.clearAll()
	require.Zero(t, c.entries.Len())
}
