package jobs

import (
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"parapet/jobs/feed"
	"parapet/model/modeltest"
)

// emscFeed returns EMSC's answer with one earthquake at the epicentre of quakeFeed.
func emscFeed(at time.Time, magnitude string) []byte {
	text := at.UTC().Format("2006-01-02T15:04:05.000Z")
	return fmt.Appendf(nil, `{"type":"FeatureCollection","features":[{"type":"Feature","id":"20270101_0000001","properties":{"unid":"20270101_0000001","evtype":"ke",`+
		`"time":%q,"lastupdate":%q,"mag":%s,"magtype":"mw","depth":10.0},"geometry":{"type":"Point","coordinates":[121.65,24.17,-10.0]}}]}`, text, text, magnitude)
}

// The optional version of quake-circle is decided when the feeds of USGS and EMSC agree.
func TestTwoAgenciesDecideTheOptionalProduct(t *testing.T) {
	t.Parallel()
	document, err := os.ReadFile("../model/quoting/product/catalog/optional/quake-circle-4.yaml")
	require.NoError(t, err)
	for magnitude, status := range map[string]string{"6.1": "approved", "6.0": "deferred"} {
		b := modeltest.New(t, modeltest.WithShippedProducts())
		_, _, err := b.Service.Products.Publish(t.Context(), b.Operator, document)
		require.NoError(t, err)
		policy := b.QuoteAndBind("quake-circle", nil)
		require.Equal(t, 4, policy.ProductVersion)
		b.AdvanceClock(time.Second)
		_, err = IngestFrom(t.Context(), b.Service, feed.SourceUSGS, "all.geojson", quakeFeed(b, "reviewed", "earthquake", 1))
		require.NoError(t, err)
		b.RunJobs()
		require.Equal(t, "deferred", b.OnlyClaim(policy).Status, "EMSC has not reported")
		_, err = IngestFrom(t.Context(), b.Service, feed.SourceEMSC, "fdsn.geojson", emscFeed(b.Now(), magnitude))
		require.NoError(t, err)
		b.RunJobs()
		claim := b.OnlyClaim(policy)
		require.Equal(t, status, claim.Status, magnitude)
		if status == "approved" {
			require.Equal(t, "usgs", *claim.Determination.Measurement.SelectedSource)
			require.Len(t, claim.Payouts, 1)
			require.Equal(t, *claim.Amount, claim.Payouts[0].Amount)
			require.Len(t, readRecords(t, b, claim.ID).Readings, 2)
		}
	}
}
