package claims_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"parapet/model/modeltest"
)

func TestGeoJSONNeedsATypeThatIsAString(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	claim := modeltest.NewApprovedClaim(b)
	_, err := b.Service.Claims.AddAttachment(t.Context(), b.Acme, claim.ID, modeltest.NewAttachment("a.geojson", "application/geo+json", `{"type": {"type": "Point"}}`))
	require.Equal(t, []string{"/content_type"}, modeltest.FieldPointers(modeltest.DomainError(t, err)))
	require.Contains(t, modeltest.DomainError(t, err).Fields[0].Detail, "not GeoJSON")
}
