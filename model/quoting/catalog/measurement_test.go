package catalog_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"parapet/model/hazard"
	"parapet/model/hazard/sources"
	"parapet/model/hazard/trigger"
	"parapet/model/modeltest"
	"parapet/model/quoting/product"
)

func TestOnlyRegisteredSourcesArePublished(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t, modeltest.InProduction())
	publish := func(source string) error {
		_, _, err := b.Service.Products.Publish(t.Context(), b.Operator, []byte(modeltest.MeasuredDocument("quake-circle", modeltest.OneSource(source, "final"), 9)))
		return err
	}
	for source, sentence := range map[string]string{
		"nosuch": `No source has the name "nosuch"`, "jma": `No source has the name "jma"`, "nhc": "registered for windstorm only",
	} {
		e := modeltest.DomainError(t, publish(source))
		require.Equal(t, []string{"/document/measurement/sources/0/source"}, modeltest.FieldPointers(e), source)
		require.Contains(t, e.Fields[0].Detail, sentence)
	}
	require.NoError(t, publish("usgs"))
	require.Equal(t, "usgs", b.Quote("quake-circle", nil).Cover.Measurement.Sources[0].Source)
}

func TestDisabledSourceStopsNoServer(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	for name, change := range map[string]sources.Request{
		"disabled": {Perils: []hazard.Peril{trigger.Earthquake}, Stages: []trigger.Stage{trigger.Preliminary, trigger.Final}, Enabled: new(false)},
		"narrowed": {Perils: []hazard.Peril{trigger.Rainfall}, Stages: []trigger.Stage{trigger.Preliminary}, Enabled: new(true)},
	} {
		change.Name = "usgs"
		_, err := b.Service.Sources.Register(t.Context(), b.Operator, change)
		require.NoError(t, err)
		held, err := b.Service.Products.PublishShipped(t.Context())
		require.NoError(t, err, name)
		require.Empty(t, held, "what is published is not checked again")
		require.Equal(t, "usgs", b.Quote("quake-circle", nil).Cover.Measurement.Sources[0].Source)
	}
	_, err := b.DB.Pool.Exec(t.Context(), "delete from products where key = 'cyclone-circle'; update sources set enabled = false where name = 'nhc'")
	require.NoError(t, err)
	held, err := b.Service.Products.PublishShipped(t.Context())
	require.NoError(t, err)
	require.Len(t, held, 1)
	require.Contains(t, held[0], "cyclone-circle version")
	require.Contains(t, held[0], "The source nhc is disabled")
}

func TestMeasurementsWaitForTheEndOfOlderReleases(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t, modeltest.WithShippedProducts())
	exec := func(sql string) {
		_, err := b.DB.Pool.Exec(t.Context(), sql)
		require.NoError(t, err)
	}
	exec("delete from products; update schema_compatibility set minimum_binary = 24")
	versions := map[string]int{}
	for _, p := range product.Shipped() {
		versions[p.Key()] = p.Version()
		_, _, err := b.Service.Products.Publish(t.Context(), b.Operator, []byte(modeltest.MeasuredDocument(p.Key(), "", p.Version()-1)))
		require.NoError(t, err, "without a measurement")
	}
	held, err := b.Service.Products.PublishShipped(t.Context())
	require.NoError(t, err)
	require.Len(t, held, len(versions))
	require.Contains(t, held[0], "sets schema_compatibility.minimum_binary to 31")
	_, _, err = b.Service.Products.Publish(t.Context(), b.Operator, []byte(modeltest.MeasuredDocument("quake-circle", modeltest.OneSource("usgs", "final"), 9)))
	require.Equal(t, []string{"/document/measurement"}, modeltest.FieldPointers(modeltest.DomainError(t, err)))
	quote := b.Quote("quake-circle", nil)
	require.Equal(t, versions["quake-circle"]-1, quote.ProductVersion)
	require.Nil(t, quote.Cover.Measurement)

	exec("update schema_compatibility set minimum_binary = 31")
	held, err = b.Service.Products.PublishShipped(t.Context())
	require.NoError(t, err)
	require.Empty(t, held)
	quote = b.Quote("quake-circle", nil)
	require.Equal(t, versions["quake-circle"], quote.ProductVersion)
	require.NotNil(t, quote.Cover.Measurement)
}
