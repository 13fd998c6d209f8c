package adjudication_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"parapet/model/hazard"
	"parapet/model/hazard/occurrence"
	"parapet/model/modeltest"
)

// BenchmarkEvaluateQuake matches one earthquake against 1,000 and 100,000 policies all
// over the earth; the magnitude is too low to pay. The cost depends on the candidates:
// the larger number costs about the same.
func BenchmarkEvaluateQuake(b *testing.B) {
	for _, policies := range []int{1_000, 100_000} {
		b.Run(fmt.Sprintf("policies=%d", policies), func(b *testing.B) {
			m := modeltest.New(b, modeltest.WithoutChecks())
			m.QuoteAndBind("quake-circle", nil)
			_, err := m.DB.Pool.Exec(b.Context(), fmt.Sprintf(modeltest.ScatterPolicies, policies))
			require.NoError(b, err)
			_, err = m.DB.Pool.Exec(b.Context(), "analyze policies")
			require.NoError(b, err)
			at := m.Now()
			for i := 0; b.Loop(); i++ {
				b.StopTimer()
				m.Observe(modeltest.Quake(fmt.Sprintf("bench-%d", i), at.Add(time.Duration(i)*time.Microsecond), hazard.Point{Latitude: 24.1737, Longitude: 121.653}, "5.9"))
				job := m.LastJob().(occurrence.EvaluateOccurrences)
				b.StartTimer()
				require.NoError(b, m.Service.Adjudication.Evaluate(b.Context(), job))
			}
		})
	}
}
