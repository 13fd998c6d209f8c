package auth_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

// BenchmarkVerify compares a token that was seen before with one that was not,
// in one run: the cache is worth its memory only while the ratio is large.
func BenchmarkVerify(b *testing.B) {
	w := newWorld(b, "ES256")
	verifier := w.verifier(b)
	b.Run("cached", func(b *testing.B) {
		token := w.sign(b, nil)
		for b.Loop() {
			_, err := verifier.Verify(b.Context(), token)
			require.NoError(b, err)
		}
	})
	b.Run("new", func(b *testing.B) {
		tokens := make([]string, 2000)
		for i := range tokens {
			tokens[i] = w.sign(b, map[string]any{"jti": fmt.Sprint(i)})
		}
		for i := 0; b.Loop() && i < len(tokens); i++ {
			_, err := verifier.Verify(b.Context(), tokens[i])
			require.NoError(b, err)
		}
	})
}
