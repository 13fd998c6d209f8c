package capacity_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"parapet/model/kernel/store"
	"parapet/model/modeltest"
)

func TestRetractionDoesNotChangeALiftedMoratorium(t *testing.T) {
	t.Parallel()
	b := guarded(t)
	centre, _ := insured(b, "quake-circle")
	b.Observe(modeltest.Quake("us1", b.Now(), centre, "7"))
	standing := modeltest.Must(b.Service.Capacity.ListMoratoria(t.Context(), b.Operator, false, store.PageRequest{})).Data
	require.Len(t, standing, 1)
	modeltest.Must(b.Service.Capacity.LiftMoratorium(t.Context(), b.Operator, standing[0].ID))
	all := func() any {
		return modeltest.Must(b.Service.Capacity.ListMoratoria(t.Context(), b.Operator, true, store.PageRequest{})).Data
	}
	lifted := all()
	b.Observe(modeltest.NewRetraction("us1"))
	b.RunJobs()
	require.Equal(t, lifted, all())
}
