package dbconn_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"

	"parapet/model/dbconn"
)

func TestOnlyDeadlocksAndSerializationFailuresAreRetried(t *testing.T) {
	t.Parallel()
	for code, retryable := range map[string]bool{"40P01": true, "40001": true, "40003": false, "57P01": false} {
		require.Equal(t, retryable, dbconn.IsRetryable(fmt.Errorf("wrapped: %w", &pgconn.PgError{Code: code})), code)
	}
	require.False(t, dbconn.IsRetryable(errors.New("40P01")))
}
