package auth_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

// BenchmarkVerify compares a token that was seen before with one that was not,
// in one run: the cache is worth its memory only while the ratio is large.
func BenchmarkVerify(b *testing.B) {
	w := newTestIssuer(b, "ES256")
	verifier := w.newVerifier(b)
	b.Run("cached", func(b *testing.B) {
		token := w.signToken(b, nil)
		b.ReportAllocs()
		for b.Loop() {
			if _, err := verifier.Verify(b.Context(), token); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("new", func(b *testing.B) {
		tokens := make([]string, b.N)
		for i := range tokens {
			tokens[i] = w.signToken(b, map[string]any{"jti": fmt.Sprint(i)})
		}
		b.ReportAllocs()
		b.ResetTimer()
		for _, token := range tokens {
			_, err := verifier.Verify(b.Context(), token)
			require.NoError(b, err)
		}
	})
}
