package seal

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSealKeyNamesAreBounded(t *testing.T) {
	t.Parallel()
	named := func(id string) Keys {
		secret := bytes.Repeat([]byte("k"), 32)
		return Keys{Seal: []Key{{ID: id, Secret: secret}}, Fingerprint: secret}
	}
	require.NoError(t, named(strings.Repeat("k", 32)).Check())
	require.ErrorContains(t, named(strings.Repeat("k", 33)).Check(), "at most 32 bytes")
	require.Error(t, named("").Check())
}
