package store

import (
	"github.com/google/uuid"

	"parapet/model/kernel/event"
)

// findTransition returns the event of a transition; false if it is not allowed.
func findTransition[S ~string](allowed []Transition[S], from, to S) (event.Type, bool) {
	for _, a := range allowed {
		if a.From == from && a.To == to {
			return a.Event, true
		}
	}
	return "", false
}

// Transition is an allowed change of a record's status, with the event it writes.
type Transition[S ~string] struct {
	From, To S
	Event    event.Type
}

// transitionSet is a set of locked rows of one table that change status together, in
// one statement.
type transitionSet struct {
	tx                 *Tx
	table              string
	ids                []uuid.UUID
	partners, from, to []string
	versions           []int64
}

// NewTransitionSet returns an empty set for at most n rows of a table.
func NewTransitionSet(tx *Tx, table string, n int) *transitionSet {
	return &transitionSet{
		tx: tx, table: table, ids: make([]uuid.UUID, 0, n), partners: make([]string, 0, n),
		from: make([]string, 0, n), to: make([]string, 0, n), versions: make([]int64, 0, n),
	}
}

// TransitionInSet changes a row in memory; QueueUpdate writes it with the others. It
// returns the event of the transition.
func TransitionInSet[S ~string](set *transitionSet, row *RowHeader, allowed []Transition[S], status *S, to S) (event.Type, error) {
	from, was := *status, row.Version
	event, err := ChangeStatusInMemory(set.tx, row, allowed, status, to)
	if err != nil {
		return "", err
	}
	set.ids, set.partners = append(set.ids, row.ID), append(set.partners, row.Partner)
	set.from, set.to, set.versions = append(set.from, string(from)), append(set.to, string(to)), append(set.versions, was)
	return event, nil
}

// QueueUpdate queues the update of all rows for the next flush. A row with another
// version or status than it was read with is a conflict.
func (t *transitionSet) QueueUpdate() {
	if len(t.ids) == 0 {
		return
	}
	t.tx.QueueGuarded(len(t.ids), `update `+t.table+` as t set status = n.status, version = n.was + 1, updated_at = $1
		from unnest($2::uuid[], $3::text[], $4::bigint[], $5::text[], $6::text[]) as n (id, partner, was, was_in, status)
		where t.id = n.id and t.partner = n.partner and t.version = n.was and `+GuardedStatusSQL("t.status")+` = n.was_in`,
		t.tx.Now, t.ids, t.partners, t.versions, t.from, t.to)
}
