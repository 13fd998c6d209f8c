package graph_test

import (
	"encoding/base64"
	"testing"

	"github.com/stretchr/testify/require"

	"parapet/model/modeltest"
)

func TestPriceHistoryAndStationsOverGraphQL(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	const load = `mutation($in: LoadPriceHistoryInput!) { loadPriceHistory(input: $in) { priceHistory { dataSet version name digest firstYear lastYear rows inUse loadedAt retiredAt } prices { product before { amount } after { amount } } clientMutationId } }`
	file := modeltest.QuakeHistory(2) // longer than a body without contents
	require.Greater(t, len(file), 1<<19)
	in := map[string]any{"contentBase64": base64.StdEncoding.EncodeToString(file), "reason": "New events.", "clientMutationId": "load-1"}
	answer := d.queryDataAs(t, "operator", load, map[string]any{"in": in})["loadPriceHistory"].(map[string]any)
	loaded := answer["priceHistory"].(map[string]any)
	require.Equal(t, []any{"EARTHQUAKES", 1.0, true, nil}, []any{loaded["dataSet"], loaded["version"], loaded["inUse"], loaded["retiredAt"]})
	require.Len(t, answer["prices"], 6)
	require.Equal(t, answer, d.queryDataAs(t, "operator", load, map[string]any{"in": in})["loadPriceHistory"], "a repeat has the first answer")

	read := d.queryDataAs(t, "acme", `query($digest: String!) { priceHistories { dataSet version inUse } priceHistoryFile(digest: $digest) }`, map[string]any{"digest": loaded["digest"]})
	require.Len(t, read["priceHistories"], 4)
	require.Equal(t, map[string]any{"dataSet": "EARTHQUAKES", "version": 1.0, "inUse": true}, read["priceHistories"].([]any)[0])
	require.Greater(t, len(read["priceHistoryFile"].(string)), 1<<17)

	retired := d.queryDataAs(t, "operator", `mutation { retirePriceHistory(input: {dataSet: EARTHQUAKES, version: 1, reason: "A mistake."}) { priceHistory { inUse retiredAt } } }`, nil)
	require.NotNil(t, retired["retirePriceHistory"].(map[string]any)["priceHistory"].(map[string]any)["retiredAt"])
	in["contentBase64"] = "no base64"
	refused := d.send(t, graphqlRequest{as: "operator", document: load, variables: map[string]any{"in": in}})
	require.Equal(t, "validation_failed", refused.errorCode())
	require.Equal(t, "/input/contentBase64", refused.Errors[0].Extensions.Errors[0].Pointer)

	station := d.queryDataAs(t, "operator", `mutation { registerStation(input: {name: "Taitung", agencyId: "TWM00059562", latitude: 22.75, longitude: 121.15, reason: "A new gauge."}) {
		station { name agencyId latitude longitude enabled precipitationYears temperatureYears firstDay lastDay } } }`, nil)
	require.Equal(t, "Taitung", station["registerStation"].(map[string]any)["station"].(map[string]any)["name"])
	list := d.queryDataAs(t, "acme", `{ stations(first: 2) { totalCount pageInfo { hasNextPage } nodes { name precipitationYears firstDay } } }`, nil)["stations"].(map[string]any)
	require.EqualValues(t, 5, list["totalCount"])
	require.Len(t, list["nodes"], 2)
}
