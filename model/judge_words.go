package model

import (
	"fmt"

	"parapet/model/money"
	"parapet/model/trigger"
)

func observedSentence(p *policyRow, facts trigger.Occurrence, d trigger.Determination) string {
	what := fmt.Sprintf("%s reported %s", facts.Source, facts.SourceEventID)
	if facts.Source == asIfSource {
		what = "The supposed event"
	}
	if public := publicDetermination(p, facts, d); public.Index != nil {
		what += fmt.Sprintf(": %s %s %s", p.Cover.Trigger.Index, public.Index.Value, public.Index.Unit)
	}
	if d.DistanceKM != nil {
		what += fmt.Sprintf(", %.2f km from the insured place's centre", *d.DistanceKM)
	}
	return what + fmt.Sprintf(" (%s values).", facts.Stage)
}

func decisionSentence(row *claimRow) string {
	switch row.Status {
	case ClaimApproved:
		return fmt.Sprintf("The claim was approved: %s is owed.", money.New(*row.Amount, row.Currency))
	case ClaimDeferred:
		return "The claim waits: " + row.ReasonCodes[0] + "."
	case ClaimDeclined:
		return "The claim was declined: " + row.ReasonCodes[len(row.ReasonCodes)-1] + "."
	case ClaimOpened, ClaimWithdrawn, ClaimClosed:
	}
	return "The claim is " + string(row.Status) + "."
}
