package meter_test

import (
	"os"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"parapet/internal/meter"
	"parapet/model/modeltest"
)

func TestMain(m *testing.M) { os.Exit(modeltest.Main(m)) }

func TestMeterCountsProcessorTimeAndLogOfPostgres(t *testing.T) {
	t.Parallel()
	db, _ := modeltest.Database(t, 2)
	_, err := db.Pool.Exec(t.Context(), "create table numbers (n bigint)")
	require.NoError(t, err)
	m := meter.Start(t, db.Pool, os.Getpid())
	_, err = db.Pool.Exec(t.Context(), "insert into numbers select sum(a) from generate_series(1, 3000000) a cross join generate_series(1, 2) b union all select generate_series(1, 10000)")
	require.NoError(t, err)
	used := m.Stop()
	require.Greater(t, used.WAL, int64(10_000*8))
	require.Positive(t, used.Elapsed)
	if runtime.GOOS == "linux" {
		require.Greater(t, used.PostgresCPU, 50*time.Millisecond)
	}
}

// Backends that end are counted too.
func TestMeterCountsEndedBackends(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("there is no /proc")
	}
	db, _ := modeltest.Database(t, 2)
	m := meter.Start(t, db.Pool, os.Getpid())
	_, err := db.Pool.Exec(t.Context(), "select sum(a) from generate_series(1, 3000000) a")
	require.NoError(t, err)
	db.Pool.Reset()
	require.Eventually(t, func() bool { return db.Pool.Stat().TotalConns() == 0 }, 10*time.Second, time.Millisecond)
	require.Greater(t, m.Stop().PostgresCPU, 50*time.Millisecond)
}

func TestMeterReadsTheMemoryOfAProcess(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("there is no /proc")
	}
	require.Greater(t, meter.Memory(os.Getpid()), 1.0)
	now := meter.Memory(os.Getpid())
	require.Greater(t, meter.PeakMemory(os.Getpid()), now/2, "the kernel updates both at different times")
	require.Zero(t, meter.Memory(-1))
}

func TestMedianIsTheMiddleValueInOrder(t *testing.T) {
	t.Parallel()
	values := []float64{5, 1, 9, 2, 3}
	require.InDelta(t, 3, meter.Median(values), 0)
	require.InDelta(t, 5, meter.Median([]float64{5, 1, 9, 2}), 0)
	require.Equal(t, []float64{5, 1, 9, 2, 3}, values, "they stay as they are")
}

func TestPercentileIsInMilliseconds(t *testing.T) {
	t.Parallel()
	times := []time.Duration{4 * time.Millisecond, time.Millisecond, 2500 * time.Microsecond, 3 * time.Millisecond}
	require.InDelta(t, 2.5, meter.Percentile(times, 25), 0)
	require.InDelta(t, 3, meter.Percentile(times, 50), 0)
	require.InDelta(t, 4, meter.Percentile(times, 99), 0)
	require.Equal(t, 4*time.Millisecond, times[0], "they stay as they are")
}
