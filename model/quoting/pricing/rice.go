package pricing

import "math"

// riceDistribution computes the probability that a circle contains a point when its
// centre is displaced by a two-dimensional normal distribution: the distribution
// function of Rice at the circle's radius (S. O. Rice, "Mathematical Analysis of Random
// Noise", 1945), 1 − Q₁(d/c, r/c) with the function of Marcum.
type riceDistribution struct {
	radius, deviation float64   // kilometres; deviation above 0
	first             int       // tail[i] belongs to k = first + i
	tailProbabilities []float64 // P(J > k) of J ~ Poisson(r²/2c²)
	weights           []float64 // buffer for the weights of one distance
}

// negligibleTerm ends the series: the terms after one that is smaller than the largest
// by this factor add less than 1e-15.
const negligibleTerm = 1e-19

func newRiceDistribution(radius, deviation float64) *riceDistribution {
	r := &riceDistribution{radius: radius, deviation: deviation}
	mean := radius * radius / (2 * deviation * deviation)
	var sum float64
	r.first, r.weights, sum = poissonTerms(nil, mean)
	r.tailProbabilities = make([]float64, len(r.weights))
	rest := 0.0
	for i := len(r.weights) - 1; i >= 0; i-- {
		r.tailProbabilities[i] = rest / sum
		rest += r.weights[i]
	}
	return r
}

// probabilityAt returns the probability for a point at a distance from the circle's own
// centre, to 1e-15. It is the Poisson–gamma series Σ_k e^(−λ) λ^k/k! · P(k+1, r²/2c²)
// with λ = d²/2c²; the regularised gamma function of a whole number is the tail of
// another Poisson distribution.
func (r *riceDistribution) probabilityAt(distance float64) float64 {
	λ := distance * distance / (2 * r.deviation * r.deviation)
	first, weights, sum := poissonTerms(r.weights[:0], λ)
	r.weights = weights
	probability := 0.0
	for i, weight := range weights {
		switch k := first + i - r.first; {
		case k < 0:
			probability += weight // smaller k: the tail is 1
		case k < len(r.tailProbabilities):
			probability += weight * r.tailProbabilities[k]
		}
	}
	return probability / sum
}

// poissonTerms returns the terms of a Poisson distribution from the first relevant one
// on, relative to the largest, and their sum. It starts at the largest, so no term
// underflows for any mean. room is the buffer for the terms.
func poissonTerms(room []float64, mean float64) (first int, terms []float64, sum float64) {
	mode := int(math.Floor(mean))
	first, term := mode, 1.0
	for first > 0 && term > negligibleTerm {
		term *= float64(first) / mean
		first--
	}
	terms = room
	for k := mode; k >= first; k-- {
		terms = append(terms, 0)
	}
	term = 1
	for k := mode; k >= first; k-- {
		terms[k-first] = term
		if mean > 0 {
			term *= float64(k) / mean
		}
	}
	term = 1
	for k := mode + 1; ; k++ {
		if term *= mean / float64(k); term <= negligibleTerm {
			break
		}
		terms = append(terms, term)
	}
	for _, term := range terms {
		sum += term
	}
	return first, terms, sum
}
