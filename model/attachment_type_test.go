package model_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"parapet/model/modeltest"
)

func TestGeoJSONNeedsATypeThatIsAString(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	claim := owed(b)
	_, err := b.Service.AddAttachment(t.Context(), b.Acme, claim.ID, attachmentNamed("a.geojson", "application/geo+json", `{"type": {"type": "Point"}}`))
	require.Equal(t, []string{"/content_type"}, fieldPointers(domainError(t, err)))
	require.Contains(t, domainError(t, err).Fields[0].Detail, "not GeoJSON")
}
