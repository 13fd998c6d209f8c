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
	var c actorCache
	c.clearAll()
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

// Tokens are remembered for a minute, or until they expire; many valid tokens do not make
// the memory grow, and those that have ended make room first.
func TestCacheIsBounded(t *testing.T) {
	t.Parallel()
	var c actorCache
	c.clearAll()
	now := time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)
	_, _, generation := c.get(tokenHash("0"), now)
	put := func(from, to int, at time.Time) {
		for n := from; n < to; n++ {
			c.put(tokenHash(strconv.Itoa(n)), actor.Actor{}, at, at.Add(time.Hour), generation)
		}
	}
	known := func(n int, at time.Time) bool {
		_, found, _ := c.get(tokenHash(strconv.Itoa(n)), at)
		return found
	}
	put(0, 1, now)
	require.True(t, known(0, now.Add(cacheLifetime-1)))
	require.False(t, known(0, now.Add(cacheLifetime)))

	put(1, cacheSize, now.Add(time.Second))
	require.Len(t, c.entries, cacheSize)
	put(cacheSize, cacheSize+1, now.Add(cacheLifetime))
	require.Len(t, c.entries, cacheSize, "the first one had ended and made room")
	for n := 1; n <= cacheSize; n++ {
		require.True(t, known(n, now.Add(cacheLifetime)), n)
	}
	put(cacheSize+1, cacheSize+50, now.Add(cacheLifetime))
	require.Len(t, c.entries, cacheSize, "any makes room where none has ended")
	require.True(t, known(cacheSize+49, now.Add(cacheLifetime)))
}
