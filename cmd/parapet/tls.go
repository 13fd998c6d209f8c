package main

import (
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"sync"
	"time"
)

// certificateCheckInterval is how often a changed certificate is looked for, at most.
const certificateCheckInterval = time.Second

// certificateFile serves a certificate from files, and again when they change. It is safe
// for concurrent use.
type certificateFile struct {
	certificate, key string
	log              *slog.Logger

	mu      sync.Mutex
	checked time.Time
	changed [2]time.Time // modification times of the files in use
	current *tls.Certificate
}

// secureListener returns a listener that speaks TLS with the files of the settings, or the
// listener itself without them.
func (s settings) secureListener(listener net.Listener, log *slog.Logger) (net.Listener, error) {
	if s.TLSCertificate == "" && s.TLSKey == "" {
		return listener, nil
	}
	file := &certificateFile{certificate: s.TLSCertificate, key: s.TLSKey, log: log}
	if err := file.load(); err != nil {
		return nil, fmt.Errorf("PARAPET_TLS_CERTIFICATE and PARAPET_TLS_KEY: %w", err)
	}
	return tls.NewListener(listener, &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: file.get, NextProtos: []string{"h2", "http/1.1"}}), nil
}

// get implements tls.Config.GetCertificate. New files that cannot be used leave the old
// certificate in use: one file may be written before the other.
func (f *certificateFile) get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if time.Since(f.checked) < certificateCheckInterval {
		return f.current, nil
	}
	f.checked = time.Now()
	if changed, err := f.modified(); err != nil || changed != f.changed {
		if err = errors.Join(err, f.load()); err != nil {
			f.log.Error("the new certificate cannot be used: the old one stays", "error", err)
		} else {
			f.log.Info("the certificate was read again", "expires", f.current.Leaf.NotAfter)
		}
	}
	return f.current, nil
}

func (f *certificateFile) load() error {
	changed, err := f.modified()
	if err != nil {
		return err
	}
	read, err := tls.LoadX509KeyPair(f.certificate, f.key)
	if err != nil {
		return err
	}
	f.changed, f.current = changed, &read
	return nil
}

// modified returns when the files were changed.
func (f *certificateFile) modified() (changed [2]time.Time, err error) {
	for i, name := range []string{f.certificate, f.key} {
		info, err := os.Stat(name)
		if err != nil {
			return changed, err
		}
		changed[i] = info.ModTime()
	}
	return changed, nil
}
