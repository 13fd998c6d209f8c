package actor_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"parapet/model/kernel/actor"
)

func TestAuditTextIsStorable(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"": "unnamed", "decideClaim": "decideClaim", "a\x00b": "ab", "a\xffb": "ab", strings.Repeat("x", 256): strings.Repeat("x", 255),
		strings.Repeat("x", 254) + "é": strings.Repeat("x", 254), "\x00": "",
	} {
		require.Equal(t, want, actor.BoundAuditText(text, "unnamed"), "%q", text)
	}
}
