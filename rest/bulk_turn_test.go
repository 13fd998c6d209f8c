package rest_test

import (
	"context"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"parapet/model"
	"parapet/rest"
)

// TestRequestsOfCallersLimitBulkWork counts a request once its token is verified.
func TestRequestsOfCallersLimitBulkWork(t *testing.T) {
	t.Parallel()
	var service *model.Service
	handler := newHandler(t, func(c *rest.Config) { service = c.Service })
	now := time.Now()
	service.Bulk.Now = func() time.Time { return now }
	send := func(token string) {
		request{"GET", "/v1/quotes/x", "", []string{"Authorization: Bearer " + token}}.sendTo(t, handler)
	}
	enter := func(n int) (err error) {
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		for range n {
			if _, err = service.Bulk.Enter(ctx); err != nil {
				return err
			}
		}
		return nil
	}
	turns := max(1, runtime.GOMAXPROCS(0)/2)
	for range 3 {
		send("forged")
	}
	require.NoError(t, enter(turns+1))
	for range 3 {
		send("unscoped")
	}
	require.NoError(t, enter(turns))
	require.ErrorIs(t, enter(1), context.DeadlineExceeded)
}
