// Package hazard models natural hazards that can be measured: earthquakes, tropical
// cyclones and daily values of stations, their geometry on the sphere, and the shipped
// history used for pricing. The main types are Kind, Point, Quake, Storm, Day and
// History.
//
// Package trigger evaluates covers, package occurrence records observations. This package
// is pure: no database, no clock, no context, no locks. Start reading at hazard.go, then
// history.go.
package hazard
