package webhooks_test

import (
	"fmt"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"parapet/model/events/webhooks"
)

// The documented duration of a delivery must match the schedule.
func TestDocumentedDeliveryDurationMatchesSchedule(t *testing.T) {
	t.Parallel()
	hours := fmt.Sprintf("%.1f hours", webhooks.DeliveryDuration().Hours())
	for _, path := range []string{"../../../RUNBOOK.md", "../../../graph/schema/webhook.graphqls", "../../../rest/openapi.yaml"} {
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		require.Contains(t, string(text), hours, path)
	}
}
