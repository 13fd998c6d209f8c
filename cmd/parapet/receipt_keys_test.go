package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestReceiptKeysOfTheSettings(t *testing.T) {
	t.Parallel()
	keys, err := settings{}.parseReceiptKeys()
	require.NoError(t, err)
	require.False(t, keys.CanSign(), "the setting works when absent")
	_, err = settings{ReceiptKeys: []string{"c2VjcmV0"}}.parseReceiptKeys()
	require.ErrorContains(t, err, "PARAPET_RECEIPT_KEYS: entry 1")
	require.NotContains(t, err.Error(), "c2VjcmV0")
}

func TestDevelopmentKeysGainOneForReceipts(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "secrets.json")
	require.NoError(t, os.WriteFile(file, []byte(`{"seal":"AAAA","fingerprint":"BBBB","clients":{"acme":"a"}}`), 0o600))
	first, err := readSecrets(file)
	require.NoError(t, err)
	again, err := readSecrets(file)
	require.NoError(t, err)
	require.Equal(t, first, again, "it is stored")
	require.Equal(t, map[string]string{"acme": "a"}, again.Clients)
	keys, err := settings{ReceiptKeys: again.receiptKeys()}.parseReceiptKeys()
	require.NoError(t, err)
	require.True(t, keys.CanSign())
}
