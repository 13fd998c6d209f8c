package catalog_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"parapet/model/modeltest"
)

func TestOnlyRegisteredSourcesArePublished(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t, modeltest.InProduction())
	publish := func(source string) error {
		_, _, err := b.Service.Products.Publish(t.Context(), b.Operator, []byte(modeltest.MeasuredDocument("quake-circle", modeltest.OneSource(source, "final"), 9)))
		return err
	}
	for source, sentence := range map[string]string{
		"nosuch": `No source has the name "nosuch"`, "jma": `No source has the name "jma"`, "nhc": "registered for windstorm, not for earthquake",
	} {
		e := modeltest.DomainError(t, publish(source))
		require.Equal(t, []string{"/document/measurement/sources/0/source"}, modeltest.FieldPointers(e), source)
		require.Contains(t, e.Fields[0].Detail, sentence)
	}
	require.NoError(t, publish("usgs"))
	require.Equal(t, "usgs", b.Quote("quake-circle", nil).Cover.Measurement.Sources[0].Source)
}
