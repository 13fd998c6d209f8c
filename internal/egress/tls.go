package egress

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"strings"
)

// isTLSError reports whether an error is a failed TLS handshake.
func isTLSError(err error) bool {
	var verification *tls.CertificateVerificationError
	var record tls.RecordHeaderError
	var alert tls.AlertError
	var unknown x509.UnknownAuthorityError
	return errors.As(err, &verification) || errors.As(err, &record) || errors.As(err, &alert) || errors.As(err, &unknown) ||
		strings.Contains(err.Error(), "tls: ")
}
