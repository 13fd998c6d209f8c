//go:build !js

package hazard

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	_ "embed" // the shipped history
	"fmt"
	"io"
	"sync"

	"github.com/shopspring/decimal"
)

// The files are in the public domain, as published by their agencies;
// internal/pricedata cut and merged them. The digest of a data set covers the
// uncompressed file.
var (
	//go:embed data/quakes-1965-2022.csv.gz
	quakeFile []byte
	//go:embed data/atlantic-storms-1851-2025.txt.gz
	stormFile []byte
	//go:embed data/station-days-1899-2026.csv.gz
	stationFile []byte
)

var shippedHistory = sync.OnceValues(loadShipped)

// Shipped returns the history embedded in the binary: the earthquakes of magnitude 5.5
// and above of 1965 to 2022 worldwide, 2,004 Atlantic cyclones, and the daily rain of
// Milwaukee, Merced, Seattle and New York. The first call parses it in a fraction of a
// second. It panics if the embedded files are damaged, which cannot happen in a tested
// binary.
func Shipped() *History {
	history, err := shippedHistory()
	if err != nil {
		panic(err)
	}
	return history
}

func loadShipped() (*History, error) {
	quakes, quakeDigest, err := readShippedFile(quakeFile, ParseQuakes)
	if err != nil {
		return nil, fmt.Errorf("shipped earthquakes: %w", err)
	}
	storms, stormDigest, err := readShippedFile(stormFile, ParseHURDAT2)
	if err != nil {
		return nil, fmt.Errorf("shipped storms: %w", err)
	}
	stations, stationDigest, err := readShippedFile(stationFile, ParseGHCN)
	if err != nil {
		return nil, fmt.Errorf("shipped stations: %w", err)
	}
	return NewHistory(Records{
		Quakes: quakes, Storms: storms, Stations: stations,
		QuakeData: Dataset{
			Name: "USGS earthquakes 1965-2022", Source: USGS, Digest: quakeDigest,
			FirstYear: 1965, LastYear: 2022, MinimumMagnitude: decimal.New(55, -1),
		},
		StormData: Dataset{
			Name: "NOAA/NHC HURDAT2 Atlantic 1851-2025", Source: NHC, Digest: stormDigest,
			FirstYear: 1851, LastYear: 2025, Basin: Atlantic(),
		},
		PressureData: Dataset{
			Name: "NOAA/NHC HURDAT2 Atlantic central pressure 1992-2025", Source: NHC, Digest: stormDigest,
			FirstYear: firstPressureYear, LastYear: 2025, Basin: Atlantic(),
		},
		RainData: Dataset{
			Name: "NOAA GHCN-Daily stations 1899-2026", Source: GHCN, Digest: stationDigest,
			FirstYear: 1899, LastYear: 2026,
		},
	}), nil
}

// ShippedFile returns the shipped file of a digest, compressed by gzip; nil when there is
// none. The caller must not change it.
func ShippedFile(digest string) []byte {
	files := map[DataSet][]byte{EarthquakeSet: quakeFile, StormSet: stormFile, StationDaySet: stationFile}
	for set, file := range files {
		if Shipped().Data(set).Digest == digest {
			return file
		}
	}
	return nil
}

// readShippedFile reads a shipped file, in which every row must be good, and returns
// its digest.
func readShippedFile[T any](file []byte, parse func(io.Reader) ([]T, []RowError, error)) ([]T, string, error) {
	packed, err := gzip.NewReader(bytes.NewReader(file))
	if err != nil {
		return nil, "", err
	}
	digest := sha256.New()
	records, refused, err := parse(io.TeeReader(packed, digest))
	if err == nil && len(refused) > 0 {
		err = refused[0]
	}
	return records, formatDigest(digest.Sum(nil)), err
}
