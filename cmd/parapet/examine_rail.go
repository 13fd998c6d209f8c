package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"maps"
	"slices"
	"strings"

	"parapet/jobs"
	"parapet/jobs/rail"
	"parapet/model"
)

// examineDoubts finds payouts that wait for a bank which is not the configured one.
func (w *ward) examineDoubts(ctx context.Context, here model.RailIdentity) {
	if w.service == nil {
		return
	}
	counts, err := w.service.DoubtsElsewhere(ctx, model.System(), here)
	if err != nil {
		w.say("doubts elsewhere", ill, err.Error(), "See the server's log.")
	}
	byID := func(a, b model.RailIdentity) int { return cmp.Compare(a.ID(), b.ID()) }
	for _, other := range slices.SortedFunc(maps.Keys(counts), byID) {
		advice := "Name that rail until it has settled them, or hand in its report (parapet ops reconcile), or resolve each: " + here.Name + " is not asked about them."
		if other.Name == here.Name {
			advice += fmt.Sprintf(" When this is the same bank at a new address: parapet rail adopt --from %s --to %s --reason …, by two operators.", other.ID(), here.ID())
		}
		w.say("doubts elsewhere", ill, fmt.Sprintf("payouts in doubt at %s: %d", describeRail(other), counts[other]), advice)
	}
}

// examineReports finds days without a report of banks that only wait to be settled: no
// server fetches them.
func (w *ward) examineReports(ctx context.Context, here model.RailIdentity) {
	if w.service == nil {
		return
	}
	rails, err := w.service.KnownRails(ctx, model.System())
	if err != nil {
		w.say("reports elsewhere", ill, err.Error(), "See the server's log.")
	}
	bank := here.ID()
	if at := slices.IndexFunc(rails, func(r model.KnownRail) bool { return r.ID == here.ID() }); at >= 0 {
		bank = rails[at].Bank
	}
	for _, other := range rails {
		if days := other.DaysWithoutReport; other.Bank != bank && len(days) > 0 {
			name := describeRail(model.RailIdentity{Name: other.Name, Address: other.Address})
			w.say("reports elsewhere", watch, fmt.Sprintf("%s has payouts that its reports settle, and no report of %s", name, strings.Join(days, ", ")),
				"Its reports are not fetched any more: have the bank send them and hand them in (parapet ops reconcile).")
		}
	}
}

func describeRail(r model.RailIdentity) string {
	return strings.TrimSpace(r.Name + " " + r.Address)
}

// examineRail asks the rail about a key that nobody used.
func (w *ward) examineRail(ctx context.Context) {
	if w.settings.Rail == "" || w.river == nil {
		return // complete has said so
	}
	payment, err := w.openRail()
	if err == nil {
		err = jobs.Trustworthy(payment)
	}
	if !w.judge("rail", err, w.settings.Rail+" can be used", "Correct what is named; a rail must remember keys longer than payouts are retried.") {
		return
	}
	w.examineDoubts(ctx, jobs.IdentityOf(payment))
	w.examineReports(ctx, jobs.IdentityOf(payment))
	if w.settings.Rail == rail.SimulatorName {
		w.say("rail answers", watch, "the simulator pays nobody", "Name a real rail in production.")
		return
	}
	if !payment.Capabilities().Inquirable {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, examineTime)
	defer cancel()
	result := payment.Inquire(ctx, "doctor."+rand.Text())
	if result.Outcome == rail.Unknown || result.Outcome == rail.NotSent {
		w.say("rail answers", ill, fmt.Sprintf("%s: %v", result.Code, result.Err), "Check PARAPET_RAIL_URL and PARAPET_RAIL_SECRET with whoever runs the rail.")
		return
	}
	w.say("rail answers", well, string(result.Outcome)+" to an unknown key", "")
}
