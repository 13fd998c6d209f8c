package main

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/rs/cors"
)

// crossOrigin lets pages of PARAPET_ORIGINS call the APIs with a token, and read the headers
// that clients need. Cookies are never accepted.
func (s settings) crossOrigin(next http.Handler) http.Handler {
	if len(s.Origins) == 0 { // for which the library allows every origin
		return next
	}
	return cors.New(cors.Options{
		AllowedOrigins: s.Origins,
		AllowedMethods: []string{http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPatch, http.MethodPut, http.MethodDelete},
		AllowedHeaders: []string{"Authorization", "Content-Type", "Idempotency-Key", "If-Match", "If-None-Match", "Parapet-Read-After", "Traceparent", "X-Request-Id"},
		ExposedHeaders: []string{"ETag", "Location", "X-Request-Id", "Retry-After", "RateLimit", "RateLimit-Policy", "Idempotent-Replayed", "Parapet-Read-After"},
		MaxAge:         600,
	}).Handler(next)
}

// checkOrigins checks that each origin is exact.
func (s settings) checkOrigins() error {
	for _, text := range s.Origins {
		origin, err := url.Parse(text)
		if err != nil || origin.Scheme != "https" && origin.Scheme != "http" || origin.Host == "" || strings.Contains(origin.Host, "*") || text != origin.Scheme+"://"+origin.Host {
			return fmt.Errorf("PARAPET_ORIGINS: %q is no origin: use https://console.example.com, without a path and without *", text)
		}
	}
	return nil
}
