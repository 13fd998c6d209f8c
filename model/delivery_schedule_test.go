package model_test

import (
	"fmt"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"parapet/model"
)

// The documented duration of a delivery must match the schedule.
func TestDocumentedDeliveryDurationMatchesSchedule(t *testing.T) {
	t.Parallel()
	hours := fmt.Sprintf("%.1f hours", model.DeliveryDuration().Hours())
	for _, path := range []string{"../RUNBOOK.md", "../graph/schema/webhook.graphqls", "../rest/openapi.yaml"} {
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		require.Contains(t, string(text), hours, path)
	}
}
