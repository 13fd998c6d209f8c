package occurrence

// EvaluateOccurrences matches occurrences to policies. After names the transactions that
// must have ended first: a second pass finds the policies that were being bound during
// the first.
type EvaluateOccurrences struct {
	Occurrences []string `json:"occurrences"`
	After       string   `json:"after,omitempty"`
}

// Kind is the job's stable name.
func (EvaluateOccurrences) Kind() string { return "evaluate_occurrences" }
