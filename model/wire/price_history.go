package wire

import "time"

// PriceHistory is an edition of a data set of past events that prices are computed from.
type PriceHistory struct {
	DataSet   string     `json:"data_set"` // earthquakes, storms, station_days
	Version   int        `json:"version"`  // 0: that of the release
	Name      string     `json:"name"`
	Digest    string     `json:"digest"` // of the file; quotes name it in their basis
	FirstYear int        `json:"first_year"`
	LastYear  int        `json:"last_year"`
	Rows      int        `json:"rows"`
	InUse     bool       `json:"in_use"`    // new quotes use it
	LoadedAt  *time.Time `json:"loaded_at"` // nil for that of the release
	RetiredAt *time.Time `json:"retired_at"`
}

// PriceChange is the premium of a product's defaults by two editions.
type PriceChange struct {
	Product string `json:"product"`
	Before  Money  `json:"before"`
	After   Money  `json:"after"`
}

// Station is a station that observations and covers can name.
type Station struct {
	Name      string   `json:"name"`
	AgencyID  *string  `json:"agency_id"`
	Latitude  *float64 `json:"latitude"`
	Longitude *float64 `json:"longitude"`
	Enabled   bool     `json:"enabled"` // new quotes may insure it, where its history is long enough
	// Whole years of the price history, by measure.
	PrecipitationYears int        `json:"precipitation_years"`
	TemperatureYears   int        `json:"temperature_years"` // of the highest temperature
	FirstDay           *time.Time `json:"first_day"`         // of the price history; nil without one
	LastDay            *time.Time `json:"last_day"`
}
