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
	"parapet/model/kernel/actor"
	"parapet/model/payouts"
	"parapet/model/payouts/release"
)

// checkPayoutsAtOtherRails finds payouts that wait for a bank other than the configured
// one.
func (c *checker) checkPayoutsAtOtherRails(ctx context.Context, here payouts.RailIdentity) {
	if c.service == nil {
		return
	}
	counts, err := c.service.Releases.CountInDoubtElsewhere(ctx, actor.System(), here)
	if err != nil {
		c.addResult("doubts elsewhere", checkFail, err.Error(), "Read the server's log.")
	}
	byID := func(a, b payouts.RailIdentity) int { return cmp.Compare(a.ID(), b.ID()) }
	for _, other := range slices.SortedFunc(maps.Keys(counts), byID) {
		advice := "Configure that rail until it has settled them, submit its report (parapet ops reconcile), or resolve each: " + here.Name + " is not asked about them."
		if other.Name == here.Name {
			advice += fmt.Sprintf(" When this is the same bank at a new address: parapet rail adopt --from %s --to %s --reason …, by two operators.", other.ID(), here.ID())
		}
		c.addResult("doubts elsewhere", checkFail, fmt.Sprintf("payouts in doubt at %s: %d", describeRail(other), counts[other]), advice)
	}
}

// examineReports finds days without a report of banks with unsettled payments that no
// server fetches reports from.
func (c *checker) examineReports(ctx context.Context, here payouts.RailIdentity) {
	if c.service == nil {
		return
	}
	rails, err := c.service.Releases.KnownRails(ctx, actor.System())
	if err != nil {
		c.addResult("reports elsewhere", checkFail, err.Error(), "Read the server's log.")
	}
	bank := here.ID()
	if at := slices.IndexFunc(rails, func(r release.KnownRail) bool { return r.ID == here.ID() }); at >= 0 {
		bank = rails[at].Bank
	}
	for _, other := range rails {
		if days := other.DaysWithoutReport; other.Bank != bank && len(days) > 0 {
			name := describeRail(payouts.RailIdentity{Name: other.Name, Address: other.Address})
			c.addResult("reports elsewhere", checkWarn, fmt.Sprintf("%s has payouts that its reports settle, and no report of %s", name, strings.Join(days, ", ")),
				"Its reports are no longer fetched: get them from the bank and submit them (parapet ops reconcile).")
		}
	}
}

func describeRail(r payouts.RailIdentity) string {
	return strings.TrimSpace(r.Name + " " + r.Address)
}

// checkRail inquires the rail about an unused key.
func (c *checker) checkRail(ctx context.Context, migrated bool) {
	if c.settings.Rail == "" || c.riverPool == nil {
		return // checkSettings has reported it
	}
	payment, err := c.openRail()
	if err == nil {
		err = jobs.CheckKeyWindow(payment)
	}
	if !c.addError("rail", err, c.settings.Rail+" can be used", "Correct the named setting; a rail must remember keys for longer than payouts are retried.") {
		return
	}
	if migrated {
		c.checkPayoutsAtOtherRails(ctx, jobs.IdentityOf(payment))
		c.examineReports(ctx, jobs.IdentityOf(payment))
	}
	if c.settings.Rail == rail.SimulatorName {
		c.addResult("rail answers", checkWarn, "the simulator makes no payments", "Name a real rail in production.")
		return
	}
	if !payment.Capabilities().Inquirable {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	result := payment.Inquire(ctx, "doctor."+rand.Text())
	if result.Outcome == rail.Unknown || result.Outcome == rail.NotSent {
		c.addResult("rail answers", checkFail, fmt.Sprintf("%s: %v", result.Code, result.Err), "Check PARAPET_RAIL_URL and PARAPET_RAIL_SECRET with the operator of the rail.")
		return
	}
	c.addResult("rail answers", checkOK, string(result.Outcome)+" to an unknown key", "")
}
