package main

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestDevelopmentIssuerKeepsItsAddress(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "issuer.address")
	again := func(addresses ...string) net.Listener {
		listener, err := listenOnSavedAddress(t.Context(), file, addresses...)
		require.NoError(t, err)
		t.Cleanup(func() { _ = listener.Close() })
		return listener
	}
	first := again("127.0.0.1:0")
	address := first.Addr().String()
	require.NoError(t, first.Close())
	second := again("127.0.0.1:0")
	require.Equal(t, address, second.Addr().String())
	taken := again("127.0.0.1:0")
	require.NotEqual(t, address, taken.Addr().String(), "another server runs at the old address")
	for _, foreign := range []string{"", "192.0.2.1:80", "nonsense"} {
		require.NoError(t, os.WriteFile(file, []byte(foreign), 0o600))
		require.True(t, strings.HasPrefix(again("127.0.0.1:0").Addr().String(), "127.0.0.1:"))
	}
}

func TestDevOutputListsEveryAddress(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	r := stackInfo{BaseURL: "http://127.0.0.1:1", TokenURL: "http://127.0.0.1:2/token", Clients: []clientInfo{{Name: "acme", ClientID: "acme", ClientSecret: "s3cret", Token: "t0ken"}}}
	require.NoError(t, printInfoText(&out, r))
	for _, line := range []string{
		"manual     http://127.0.0.1:1/docs", "BASE=http://127.0.0.1:1\n", "TOKEN=t0ken\n", "is acme's and good for 12h.",
		os.Args[0] + " listen --server $BASE --token $TOKEN --forward ", "curl -s http://127.0.0.1:2/token -u acme:s3cret -d ",
	} {
		require.Contains(t, out.String(), line)
	}
	out.Reset()
	r.Clients = nil
	require.NoError(t, printInfoText(&out, r), "an issuer that is not ours")
	require.NotContains(t, out.String(), "TOKEN=")
}
