package model

import (
	"github.com/google/uuid"
)

// transitionSet are locked rows of one table that change their state together, in one
// statement however many they are.
type transitionSet struct {
	tx                 *Tx
	table              string
	ids                []uuid.UUID
	partners, from, to []string
	versions           []int64
}

func newTransitionSet(tx *Tx, table string, n int) *transitionSet {
	return &transitionSet{
		tx: tx, table: table, ids: make([]uuid.UUID, 0, n), partners: make([]string, 0, n),
		from: make([]string, 0, n), to: make([]string, 0, n), versions: make([]int64, 0, n),
	}
}

// transitionInSet moves a row in memory; queue writes it with the others. It returns the
// event of the transition.
func transitionInSet[S ~string](set *transitionSet, row *RowHeader, arrows []Transition[S], status *S, to S) (EventType, error) {
	from, was := *status, row.Version
	event, err := transitionInMemory(set.tx, row, arrows, status, to)
	if err != nil {
		return "", err
	}
	set.ids, set.partners = append(set.ids, row.ID), append(set.partners, row.Partner)
	set.from, set.to, set.versions = append(set.from, string(from)), append(set.to, string(to)), append(set.versions, was)
	return event, nil
}

// queueUpdate writes the rows with what is sent next. One that is not in the version and state
// it was read in is a conflict.
func (t *transitionSet) queueUpdate() {
	if len(t.ids) == 0 {
		return
	}
	t.tx.queueGuarded(len(t.ids), `update `+t.table+` as t set status = n.status, version = n.was + 1, updated_at = $1
		from unnest($2::uuid[], $3::text[], $4::bigint[], $5::text[], $6::text[]) as n (id, partner, was, was_in, status)
		where t.id = n.id and t.partner = n.partner and t.version = n.was and t.status = n.was_in`,
		t.tx.now, t.ids, t.partners, t.versions, t.from, t.to)
}
