// Package sandbox lets partners and operators of a rehearsal server live through events
// that have not happened: runs move the business clock from one due instant to the next,
// replay past events, and end a partner's open records; payouts get their outcome from the
// simulated rail's reports; a checklist shows what a partner's client has shown. On any
// other server every operation fails with not_found.
//
// A run is a row of sandbox_runs: running → done | failed. This package starts runs and
// saves their progress; package jobs does their work, one step at a time, so that a run
// continues after a restart. Nothing is deleted. Start reading at run.go.
package sandbox
