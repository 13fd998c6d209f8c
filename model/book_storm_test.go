package model_test

import (
	"context"
	"flag"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"parapet/internal/devpg"
	"parapet/model/hazard"
	"parapet/model/modeltest"
)

// A book of storms is a book for `make bench/storm`: policies in force of twenty partners
// of uneven size, in cities by population, with accounts that payouts can go to. Its
// folder has two databases: modeltest.BookName, and modeltest.SmallBookName, whose policies
// are all in the first city.
var (
	bookHits = flag.Int("book-hits", 0, "make a book of storms in the folder of -book: how many policies are in each of modeltest.StormCities but the first, which has a tenth of them")

	// stormPartners are the partners of a book of storms in order of size: the n-th has a
	// share of 1/n of the first one's.
	stormPartners = modeltest.StormPartners()
)

// elsewhere are cities that no earthquake of a storm reaches, with millions of people.
var elsewhere = []struct {
	people float64
	at     hazard.Point
}{
	{37.4, hazard.Point{Latitude: 35.68, Longitude: 139.69}},
	{22.0, hazard.Point{Latitude: 19.43, Longitude: -99.13}},
	{12.4, hazard.Point{Latitude: 34.05, Longitude: -118.24}},
	{9.1, hazard.Point{Latitude: 35.69, Longitude: 51.42}},
	{6.8, hazard.Point{Latitude: -33.45, Longitude: -70.67}},
	{4.7, hazard.Point{Latitude: 37.77, Longitude: -122.42}},
	{3.0, hazard.Point{Latitude: 14.63, Longitude: -90.51}},
	{2.7, hazard.Point{Latitude: 41.30, Longitude: 69.24}},
	{1.9, hazard.Point{Latitude: -0.18, Longitude: -78.47}},
	{1.7, hazard.Point{Latitude: -36.85, Longitude: 174.76}},
}

// TestBookOfStormsKeepsInvariants makes a book of storms and checks every invariant on it.
func TestBookOfStormsKeepsInvariants(t *testing.T) {
	t.Parallel()
	policies, hits, size := 100, 20, 50
	var server *devpg.Server
	if *bookHits > 0 {
		policies, hits, size = *bookPolicies, *bookHits, *bookTemplate
		var err error
		server, err = devpg.Start(t.Context(), devpg.Options{DataDir: *bookFolder, Fresh: true})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, server.Stop(context.WithoutCancel(t.Context()))) })
	}
	require.GreaterOrEqual(t, 10*policies, 31*hits, "the cities of storms have 3.1 times -book-hits policies")
	small, large := templateSize(t, hits/10, hits, size), templateSize(t, policies, hits, size)
	for _, book := range []struct {
		name           string
		size, policies int
		byCity         []int
	}{
		{modeltest.SmallBookName, small, hits / 10, []int{small}},
		{modeltest.BookName, large, policies, stormShares(large, policies, hits)},
	} {
		template := modeltest.New(t, modeltest.WithoutChecks())
		playStormTemplate(t, template, book.size, book.byCity)
		template.CheckInvariants()
		made := openStormBook(t, server, book.name)
		fillStormBook(t, template, made, book.policies/book.size)
		if server == nil {
			require.Empty(t, made.Violations())
		}
		proof, err := made.Service.Events.VerifyChain(t.Context(), made.Operator, stormPartners[0])
		require.NoError(t, err)
		require.True(t, proof.Intact, "%v", proof.Faults)
	}
}

// templateSize returns the largest size of a template, up to most, whose copies make a
// book of so many policies with exactly so many hits.
func templateSize(t *testing.T, policies, hits, most int) int {
	t.Helper()
	for copies := (policies + most - 1) / most; copies <= hits/10; copies++ {
		if policies%copies == 0 && hits%(10*copies) == 0 {
			return policies / copies
		}
	}
	require.Fail(t, "no template of the book has so few policies: choose round numbers", "%d policies, %d hits", policies, hits)
	return 0
}

func TestTemplatesMakeExactBooks(t *testing.T) {
	t.Parallel()
	for _, book := range [][4]int{{100, 20, 50, 50}, {1_000_000, 100_000, 500, 500}, {62_000, 20_000, 500, 496}, {2000, 20_000, 500, 500}} {
		size := templateSize(t, book[0], book[1], book[2])
		require.Equal(t, book[3], size)
		copies := book[0] / size
		require.Equal(t, []int{book[0], book[1] / 10}, []int{copies * size, copies * stormShares(size, book[0], book[1])[0]})
	}
}

// stormShares returns how many policies of a template of a size are in each city of
// storms.
func stormShares(size, policies, hits int) []int {
	shares := make([]int, len(modeltest.StormCities))
	for i := range shares {
		shares[i] = size * hits / policies
	}
	shares[0] /= 10
	return shares
}

func openStormBook(t *testing.T, server *devpg.Server, name string) *modeltest.Bundle {
	t.Helper()
	if server == nil {
		return modeltest.New(t, modeltest.WithoutChecks())
	}
	require.NoError(t, server.CreateDatabase(t.Context(), name))
	return modeltest.New(t, modeltest.WithoutChecks(), modeltest.OnServer(server.URL(name)))
}

// playStormTemplate binds policies of a size in total for acme: so many in each city of
// storms, the others elsewhere.
func playStormTemplate(t *testing.T, m *modeltest.Bundle, size int, byCity []int) {
	t.Helper()
	m.StorePlain()
	p := bookPlayer{Bundle: m, t: t, random: rand.New(rand.NewPCG(5, 6))}
	bound := 0
	for i, n := range byCity {
		for range n {
			p.bindNear(modeltest.StormCities[i].Centre)
		}
		bound += n
	}
	for i := bound; i < size; i++ {
		switch p.random.IntN(10) {
		case 0:
			p.recordMethod(p.bindPolicy("cyclone-circle", p.randomTerms(hazard.Point{Latitude: 25.77, Longitude: -80.19})))
		case 1:
			p.recordMethod(p.bindPolicy("rain-excess", modeltest.Context{}))
		default:
			p.bindNear(p.randomCity())
		}
	}
	m.RunJobs()
	m.Relay()
}

// bindNear binds a policy against earthquakes in a city, with an account.
func (p *bookPlayer) bindNear(city hazard.Point) {
	p.recordMethod(p.bindPolicy("quake-circle", p.randomTerms(city)))
}

// randomTerms returns a place in a city, a radius and a limit.
func (p *bookPlayer) randomTerms(city hazard.Point) modeltest.Context {
	limits := []int64{500_000, 1_000_000, 2_000_000, 5_000_000}
	return modeltest.Context{
		"location": p.randomPointNear(city), "radius_km": 40 + 10*p.random.IntN(4),
		"limit": map[string]any{"amount": limits[p.random.IntN(len(limits))], "currency": "USD"},
	}
}

// randomCity returns a city elsewhere; the larger one is more likely.
func (p *bookPlayer) randomCity() hazard.Point {
	people := 0.0
	for _, city := range elsewhere {
		people += city.people
	}
	at := p.random.Float64() * people
	for _, city := range elsewhere {
		if at -= city.people; at < 0 {
			return city.at
		}
	}
	return elsewhere[0].at
}

// fillStormBook copies the template into a book.
func fillStormBook(t *testing.T, template, book *modeltest.Bundle, copies int) {
	t.Helper()
	for _, slug := range stormPartners {
		registerBookPartner(t, book, slug)
	}
	c := newCopier(t, template, book, copies)
	c.choosePartner = chooseStormPartner
	c.readTemplate()
	c.dropIndexes()
	c.copyAll()
	c.createIndexes()
	c.execSQL("vacuum analyze")
}

// chooseStormPartner returns the partner of a copy.
func chooseStormPartner(random *rand.Rand) string {
	shares := 0.0
	for i := range stormPartners {
		shares += 1 / float64(i+1)
	}
	at := random.Float64() * shares
	for i, slug := range stormPartners {
		if at -= 1 / float64(i+1); at < 0 {
			return slug
		}
	}
	return stormPartners[0]
}
