//go:build race

package graph_test

func init() { raceDetector = true }
