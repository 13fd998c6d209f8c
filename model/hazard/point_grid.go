package hazard

import (
	"iter"
	"math"
)

// pointGrid finds points by position: cells of one degree, each with the numbers of its
// points in the order in which they were added.
type pointGrid [180][360][]int32

func (g *pointGrid) addPoint(p Point, number int) {
	cell := &g[gridRow(p.Latitude)][gridColumn(int(math.Floor(p.Longitude)))]
	*cell = append(*cell, int32(number)) //nolint:gosec // a history has thousands of points
}

// gridRow returns the row of a latitude; the pole belongs to the last one.
func gridRow(latitude float64) int {
	return max(0, min(179, int(math.Floor(latitude))+90))
}

// gridColumn returns the column of a whole degree of longitude, in any turn.
func gridColumn(degree int) int { return ((degree+180)%360 + 360) % 360 }

// pointsIn iterates over the points of all cells that the box touches, each once.
func (g *pointGrid) pointsIn(box Box) iter.Seq[int] {
	west, east := int(math.Floor(box.West)), int(math.Floor(box.East))
	east = min(east, west+359)
	return func(yield func(int) bool) {
		for r := gridRow(box.South); r <= gridRow(box.North); r++ {
			for degree := west; degree <= east; degree++ {
				for _, number := range g[r][gridColumn(degree)] {
					if !yield(int(number)) {
						return
					}
				}
			}
		}
	}
}
