package catalog_test

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"parapet/model/audit"
	"parapet/model/hazard"
	"parapet/model/kernel/apperr"
	"parapet/model/kernel/store"
	"parapet/model/modeltest"
	"parapet/model/quoting/catalog"
	"parapet/model/wire"
)

func loadHistory(t *testing.T, b *modeltest.Bundle, file []byte, dryRun bool) *catalog.LoadedHistory {
	t.Helper()
	loaded, err := b.Service.Products.LoadPriceHistory(t.Context(), b.Operator, catalog.LoadHistoryRequest{Content: bytes.NewReader(file), Reason: "New events.", DryRun: dryRun})
	require.NoError(t, err)
	return loaded
}

func quakeHistories(t *testing.T, b *modeltest.Bundle) (all []wire.PriceHistory) {
	t.Helper()
	list, err := b.Service.Products.PriceHistories(t.Context(), b.Acme)
	require.NoError(t, err)
	for _, history := range list {
		if history.DataSet == string(hazard.EarthquakeSet) {
			all = append(all, history)
		}
	}
	return all
}

func TestLoadedHistoryPricesNewQuotes(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	shipped, file := b.Quote("quake-circle", nil), modeltest.QuakeHistory(2)
	require.Equal(t, hazard.Shipped().QuakeData().Digest, shipped.Basis.DatasetDigest)

	trial := loadHistory(t, b, file, true)
	require.Len(t, quakeHistories(t, b), 1, "a dry run changes nothing")
	for _, change := range trial.Prices {
		require.Equal(t, change.Product == "quake-circle", change.After.Amount < change.Before.Amount, change)
	}
	loaded := loadHistory(t, b, file, false)
	require.Equal(t, trial.Prices, loaded.Prices)
	require.Equal(t, 1, loaded.PriceHistory.Version)
	quote := b.Quote("quake-circle", nil)
	require.Equal(t, loaded.PriceHistory.Digest, quote.Basis.DatasetDigest)
	require.Equal(t, "Some earthquakes", quote.Basis.Dataset)
	require.Less(t, quote.Price.Premium.Amount, shipped.Price.Premium.Amount)
	for _, priced := range []*wire.Quote{shipped, quote} {
		page, err := b.Service.Quotes.GetBasis(t.Context(), b.Acme, priced.ID, store.PageRequest{Limit: 100})
		require.NoError(t, err, "each quote is weighed by the data that it names")
		require.NotEmpty(t, page.Data)
	}
	require.Equal(t, 1, loadHistory(t, b, file, false).PriceHistory.Version, "it is in use already")

	retired, err := b.Service.Products.RetirePriceHistory(t.Context(), b.Operator, catalog.RetireHistoryRequest{DataSet: string(hazard.EarthquakeSet), Version: 1, Reason: "Half of it is missing."})
	require.NoError(t, err)
	require.NotNil(t, retired.RetiredAt)
	require.Equal(t, shipped.Basis.DatasetDigest, b.Quote("quake-circle", nil).Basis.DatasetDigest)
	require.Equal(t, 2, loadHistory(t, b, file, false).PriceHistory.Version)
	loadHistory(t, b, modeltest.QuakeHistory(3), false)
	var uses []bool
	for _, history := range quakeHistories(t, b) {
		uses = append(uses, history.InUse)
	}
	require.Equal(t, []bool{true, false, false, false}, uses)
	lines := modeltest.ListAudit(t, b, audit.Filter{Operation: ""})
	require.Equal(t, "New events.", *lines[0].Reason)
}

func TestPriceHistoryFilesAreReadByDigest(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	file := modeltest.QuakeHistory(50)
	for digest, want := range map[string]int{
		loadHistory(t, b, file, false).PriceHistory.Digest: len(file),
		hazard.Shipped().StormData().Digest:                0,
	} {
		text, err := b.Service.Products.PriceHistoryFile(t.Context(), b.Acme, digest)
		require.NoError(t, err)
		packed, err := base64.StdEncoding.DecodeString(text)
		require.NoError(t, err)
		r, err := gzip.NewReader(bytes.NewReader(packed))
		require.NoError(t, err)
		read, err := io.ReadAll(r)
		require.NoError(t, err)
		require.True(t, want == 0 && len(read) > 1<<20 || bytes.Equal(read, file))
	}
	for _, digest := range []string{"sha256:0", "\x00", ""} {
		_, err := b.Service.Products.PriceHistoryFile(t.Context(), b.Acme, digest)
		require.Equal(t, apperr.CodeNotFound, apperr.CodeOf(err))
	}
}

func TestFaultyHistoryIsRefused(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	load := func(file []byte, reason string) error {
		_, err := b.Service.Products.LoadPriceHistory(t.Context(), b.Operator, catalog.LoadHistoryRequest{Content: bytes.NewReader(file), Reason: reason})
		return err
	}
	good := modeltest.QuakeHistory(50)
	for _, tc := range []struct {
		file   []byte
		reason string
		says   string
	}{
		{good, " ", "/reason"},
		{append(bytes.Clone(good), "1999-01-01T00:00:00Z,91,0,6,,x\n"...), "r", "line "},
		{[]byte{0x1f, 0x8b, 0}, "r", "cannot be unpacked"},
		{[]byte("# data_set: station_days\n# name: x\n# first_year: 2000\n# last_year: 2025\nSeattle,2000-01-01,1\n"), "r", " cannot be priced by it: "},
	} {
		err := modeltest.DomainError(t, load(tc.file, tc.reason))
		require.Equal(t, apperr.CodeValidationFailed, err.Code)
		require.Contains(t, err.Fields[0].Pointer+" "+err.Fields[0].Detail, tc.says)
	}
	require.Len(t, quakeHistories(t, b), 1)
	_, err := b.Service.Products.LoadPriceHistory(t.Context(), b.Acme, catalog.LoadHistoryRequest{Content: bytes.NewReader(good), Reason: "r"})
	require.Equal(t, apperr.CodeInsufficientScope, apperr.CodeOf(err))
	retire := func(set hazard.DataSet, version int) error {
		_, err := b.Service.Products.RetirePriceHistory(t.Context(), b.Operator, catalog.RetireHistoryRequest{DataSet: string(set), Version: version, Reason: "r"})
		return err
	}
	require.Equal(t, apperr.CodeNotFound, apperr.CodeOf(retire(hazard.EarthquakeSet, 1)))
	require.Equal(t, apperr.CodeNotFound, apperr.CodeOf(retire(hazard.EarthquakeSet, 0)), "that of the release stays")
}

func TestDisabledStationsAreNotQuoted(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	register := func(in catalog.StationRequest) *wire.Station {
		in.Reason = "The gauge."
		station, err := b.Service.Products.RegisterStation(t.Context(), b.Operator, in)
		require.NoError(t, err)
		return station
	}
	before := b.Quote("rain-excess", map[string]any{"station": "Merced"})
	station := register(catalog.StationRequest{Name: "Merced", Enabled: new(false), AgencyID: new("USW00023257")})
	require.False(t, station.Enabled)
	require.Greater(t, station.PrecipitationYears, 50)
	_, err := b.Service.Quotes.Create(t.Context(), b.Acme, b.QuoteRequest("rain-excess", map[string]any{"station": "Merced"}))
	refused := modeltest.DomainError(t, err)
	require.Equal(t, "/context/station", refused.Fields[0].Pointer)
	require.NotContains(t, refused.Fields[0].Detail, "Merced")
	b.Bind(before)
	_, err = b.Service.Products.PublishShipped(t.Context())
	require.NoError(t, err, "a restart publishes products whose stations are disabled")

	station = register(catalog.StationRequest{Name: "Merced", Latitude: new(37.28), Longitude: new(-120.51)})
	require.False(t, station.Enabled, "what is left out keeps its value")
	require.Equal(t, "USW00023257", *station.AgencyID)
	require.True(t, register(catalog.StationRequest{Name: "Merced", Enabled: new(true)}).Enabled)
	b.Quote("rain-excess", map[string]any{"station": "Merced"})
	require.Nil(t, register(catalog.StationRequest{Name: "Taitung"}).FirstDay)

	var names []string
	in := store.PageRequest{Limit: 2}
	for {
		page, err := b.Service.Products.Stations(t.Context(), b.Acme, in)
		require.NoError(t, err)
		for _, station := range page.Data {
			names = append(names, station.Name)
		}
		if !page.HasMore {
			break
		}
		in.Cursor = *page.NextCursor
	}
	require.Equal(t, []string{"Merced", "Milwaukee", "New York", "Seattle", "Taitung"}, names)

	_, err = b.Service.Products.RegisterStation(t.Context(), b.Operator, catalog.StationRequest{AgencyID: new(""), Latitude: new(91.0), Reason: "r"})
	require.Len(t, modeltest.DomainError(t, err).Fields, 4)
	_, err = b.Service.Products.RegisterStation(t.Context(), b.Operator, catalog.StationRequest{Name: "x", Latitude: new(1.0), Longitude: new(181.0), Reason: "r"})
	require.Len(t, modeltest.DomainError(t, err).Fields, 1)
	_, err = b.Service.Products.RegisterStation(t.Context(), b.Acme, catalog.StationRequest{Name: "x", Reason: "r"})
	require.Equal(t, apperr.CodeInsufficientScope, apperr.CodeOf(err))
}
