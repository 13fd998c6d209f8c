package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// writeCertificate writes a certificate for 127.0.0.1 with a serial number, and its key.
func writeCertificate(t *testing.T, certificate, key string, serial int64) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(serial), Subject: pkix.Name{CommonName: "parapet"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	require.NoError(t, err)
	secret, err := x509.MarshalPKCS8PrivateKey(private)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(certificate, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600))
	require.NoError(t, os.WriteFile(key, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret}), 0o600))
}

// answer is what a test reads of a response over TLS.
type answer struct {
	status int
	proto  string
	header http.Header
	serial int64 // of the certificate
}

// A server behind a proxy counts each client by the address that the proxy saw; what a
// client itself writes into the header changes nothing. It speaks TLS with the files of the
// settings, and uses new ones without a restart.
func TestServeBehindAProxyWithTLS(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	certificate, key := filepath.Join(folder, "chain.pem"), filepath.Join(folder, "key.pem")
	writeCertificate(t, certificate, key, 1)
	c := newProcessGroup(t, "PARAPET_TRUSTED_PROXIES=127.0.0.1", "PARAPET_BASE_URL=https://api.example.com", "PARAPET_ORIGINS=https://console.example.com",
		"PARAPET_UNAUTHENTICATED_RATE_LIMIT=1", "PARAPET_UNAUTHENTICATED_RATE_BURST=1", "PARAPET_TLS_CERTIFICATE="+certificate, "PARAPET_TLS_KEY="+key)
	base := "https" + strings.TrimPrefix(c.startProcess(t, "parapet").base, "http")
	call := func(method, path string, header ...string) answer {
		client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, ForceAttemptHTTP2: true, DisableKeepAlives: true}}
		request, err := http.NewRequestWithContext(t.Context(), method, base+path, http.NoBody)
		require.NoError(t, err)
		for i := 0; i < len(header); i += 2 {
			request.Header.Add(header[i], header[i+1])
		}
		response, err := client.Do(request)
		require.NoError(t, err)
		require.NoError(t, response.Body.Close())
		return answer{response.StatusCode, response.Proto, response.Header, response.TLS.PeerCertificates[0].SerialNumber.Int64()}
	}
	const forwarded = "X-Forwarded-For"
	status := func(chain string) int {
		return call(http.MethodGet, "/v1/quotes", forwarded, chain).status
	}
	require.Equal(t, http.StatusUnauthorized, status("203.0.113.1"))
	require.Equal(t, http.StatusUnauthorized, status("203.0.113.2"), "another client has its own allowance")
	require.Eventually(t, func() bool { // the allowance grows by one a second
		return status("198.51.100.1, 203.0.113.9") == http.StatusTooManyRequests || status("198.51.100.2, 203.0.113.9") == http.StatusTooManyRequests
	}, time.Minute, time.Millisecond, "an invented address gives no new allowance")

	response := call(http.MethodOptions, "/v1/quotes", forwarded, "203.0.113.3", "Origin", "https://console.example.com",
		"Access-Control-Request-Method", "POST", "Access-Control-Request-Headers", "authorization,idempotency-key")
	require.Equal(t, "https://console.example.com", response.header.Get("Access-Control-Allow-Origin"))
	require.Empty(t, response.header.Get("Access-Control-Allow-Credentials"))
	require.Equal(t, "HTTP/2.0", response.proto)
	require.EqualValues(t, 1, response.serial)
	response = call(http.MethodGet, "/healthz", forwarded, "203.0.113.4", "Origin", "https://console.example.com")
	require.Contains(t, response.header.Get("Access-Control-Expose-Headers"), "Idempotent-Replayed")
	response = call(http.MethodGet, "/healthz", forwarded, "203.0.113.5", "Origin", "https://console.example.com.evil.example")
	require.Empty(t, response.header.Get("Access-Control-Allow-Origin"))

	writeCertificate(t, certificate, key, 2)
	require.Eventually(t, func() bool { return call(http.MethodGet, "/healthz").serial == 2 }, time.Minute, 50*time.Millisecond, "the new certificate is used")
	require.NoError(t, os.WriteFile(certificate, []byte("half a file"), 0o600))
	for range 2 {
		<-time.After(certificateCheckInterval + 10*time.Millisecond)
		require.EqualValues(t, 2, call(http.MethodGet, "/healthz").serial, "the old certificate stays")
	}
}

func TestServeChecksProxySettings(t *testing.T) {
	t.Parallel()
	for says, s := range map[string]settings{
		"name the origin that partners see": {TrustedProxies: []string{"10.0.0.0/8"}},
		"set both or none":                  {TLSCertificate: "chain.pem"},
		`"proxy" is neither`:                {TrustedProxies: []string{"proxy"}},
		`"*" is no origin`:                  {Origins: []string{"*"}},
		`"https://a.example/" is no origin`: {Origins: []string{"https://a.example/"}},
		`"ftp://a.example" is no origin`:    {Origins: []string{"ftp://a.example"}},
		`"https://*.example.com" is no`:     {Origins: []string{"https://*.example.com"}},
	} {
		require.ErrorContains(t, s.checkComplete(), says)
	}
	fine := settings{Origins: []string{"https://a.example:8443"}, TrustedProxies: []string{"10.0.0.0/8"}, BaseURL: "https://api.example.com"}.checkComplete()
	require.NotContains(t, fine.Error(), "PARAPET_ORIGINS")
	require.NotContains(t, fine.Error(), "PARAPET_TRUSTED_PROXIES")
}
