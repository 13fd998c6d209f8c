// Package transition changes the status of many locked rows of one table in one statement.
// A Set belongs to one transaction. Start reading at Set.
package transition

import (
	"github.com/google/uuid"

	"parapet/model/kernel/event"
	"parapet/model/kernel/store"
)

// Set is a set of locked rows of one table that change status together, in
// one statement.
type Set struct {
	tx                 *store.Tx
	table              string
	ids                []uuid.UUID
	partners, from, to []string
	versions           []int64
}

// NewSet returns an empty set for at most n rows of a table.
func NewSet(tx *store.Tx, table string, n int) *Set {
	return &Set{
		tx: tx, table: table, ids: make([]uuid.UUID, 0, n), partners: make([]string, 0, n),
		from: make([]string, 0, n), to: make([]string, 0, n), versions: make([]int64, 0, n),
	}
}

// Change changes a row in memory; QueueUpdate writes it with the others. It
// returns the event of the transition.
func Change[S ~string](set *Set, row *store.RowHeader, allowed []store.Transition[S], status *S, to S) (event.Type, error) {
	from, was := *status, row.Version
	event, err := store.ChangeStatusInMemory(set.tx, row, allowed, status, to)
	if err != nil {
		return "", err
	}
	set.ids, set.partners = append(set.ids, row.ID), append(set.partners, row.Partner)
	set.from, set.to, set.versions = append(set.from, string(from)), append(set.to, string(to)), append(set.versions, was)
	return event, nil
}

// QueueUpdate queues the update of all rows for the next flush. A row with another
// version or status than it was read with is a conflict.
func (t *Set) QueueUpdate() {
	if len(t.ids) == 0 {
		return
	}
	t.tx.QueueGuarded(len(t.ids), `update `+t.table+` as t set status = n.status, version = n.was + 1, updated_at = $1
		from unnest($2::uuid[], $3::text[], $4::bigint[], $5::text[], $6::text[]) as n (id, partner, was, was_in, status)
		where t.id = n.id and t.partner = n.partner and t.version = n.was and `+store.GuardedStatusSQL("t.status")+` = n.was_in`,
		t.tx.Now, t.ids, t.partners, t.versions, t.from, t.to)
}
