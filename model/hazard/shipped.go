package hazard

import (
	"bytes"
	"compress/gzip"
	_ "embed" // the shipped history
	"fmt"
	"io"
	"sync"

	"github.com/shopspring/decimal"
)

// The files are public domain as their agencies publish them, compressed with
// gzip -9 -n.
var (
	//go:embed data/significant-earthquakes-1965-2016.csv.gz
	neicFile []byte
	//go:embed data/hurdat2-atlantic-1851-2015.csv.gz
	hurdatFile []byte
	//go:embed data/ghcn-daily-seattle-newyork-2012-2015.csv.gz
	ghcnFile []byte
)

var shipped = sync.OnceValues(loadShipped)

// Shipped is the history inside the binary: 23,412 earthquakes of magnitude 5.5
// and above worldwide, 1,814 Atlantic cyclones, and the daily rain of Seattle
// and New York. It is parsed at the first call, in a fraction of a second. It
// panics when the embedded files are damaged, which cannot happen to a binary
// that passed the tests.
func Shipped() *History {
	history, err := shipped()
	if err != nil {
		panic(err)
	}
	return history
}

func loadShipped() (*History, error) {
	quakes, err := unpack(neicFile, ParseNEIC)
	if err != nil {
		return nil, fmt.Errorf("shipped earthquakes: %w", err)
	}
	storms, err := unpack(hurdatFile, ParseHURDAT2)
	if err != nil {
		return nil, fmt.Errorf("shipped storms: %w", err)
	}
	stations, err := unpack(ghcnFile, ParseGHCN)
	if err != nil {
		return nil, fmt.Errorf("shipped stations: %w", err)
	}
	return NewHistory(Records{
		Quakes: quakes, Storms: storms, Stations: stations,
		QuakeData: Dataset{
			Name:      "USGS/NEIC significant earthquakes 1965-2016",
			Source:    USGS,
			FirstYear: 1965, LastYear: 2016, MinimumMagnitude: decimal.New(55, -1),
		},
		StormData: Dataset{Name: "NOAA/NHC HURDAT2 Atlantic 1851-2015", Source: NHC, FirstYear: 1851, LastYear: 2015},
		RainData: Dataset{
			Name:      "NOAA GHCN-Daily Seattle and New York 2012-2015",
			Source:    GHCN,
			FirstYear: 2012, LastYear: 2015,
		},
	}), nil
}

// unpack reads a shipped file, in which every row must be good.
func unpack[T any](file []byte, parse func(io.Reader) ([]T, []RowError, error)) ([]T, error) {
	plain, err := gzip.NewReader(bytes.NewReader(file))
	if err != nil {
		return nil, err
	}
	records, refused, err := parse(plain)
	if err == nil && len(refused) > 0 {
		err = refused[0]
	}
	return records, err
}
