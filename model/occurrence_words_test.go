package model_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"parapet/model"
	"parapet/model/kernel/store"
	"parapet/model/modeltest"
	"parapet/model/wire"
)

func TestExplanationOfWhatIfNamesNoSource(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	e := explainPolicy(t, b, b.QuoteAndBind("quake-circle", nil), whatIfEarthquakeRef(model.WhatIfEarthquake{Location: epicentre, Magnitude: "6.6", DepthKM: new("10")}))
	require.Regexp(t, "^The supposed event: magnitude 6.6 mw", e.Sentences[0])
}

func TestExposureCountsEachPolicyOnce(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	for range 2 {
		b.QuoteAndBind("quake-circle", nil)
	}
	b.QuoteAndBind("quake-circle", modeltest.Context{"location": map[string]float64{"latitude": 35.6, "longitude": 139.7}})
	for magnitude, want := range map[string]wire.ExposureTotal{"6.6": {Touched: 2, Paying: 2}, "5.0": {Touched: 2, NearMisses: 2}} {
		total, _, err := b.Service.Expose(t.Context(), b.Operator, model.ExposureRequest{Occurrence: model.WhatIf{Earthquake: &model.WhatIfEarthquake{
			Location: epicentre, Magnitude: magnitude, DepthKM: new("10"),
		}}}, store.PageRequest{})
		require.NoError(t, err)
		require.Len(t, total.Totals, 1)
		got := total.Totals[0]
		require.Equal(t, want, wire.ExposureTotal{Touched: got.Touched, NearMisses: got.NearMisses, Paying: got.Paying}, magnitude)
	}
}
