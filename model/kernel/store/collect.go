package store

// rowCollection is rows that a subdomain collects during a transaction; QueueInsert
// queues one statement for all of them before the commit. Append adds the rows of another
// collection of the same type.
type rowCollection interface {
	QueueInsert(tx *Tx) error
	Append(other any)
}

// collectionOrder is the place of a collection in the order in which a commit writes them,
// after the events that the rows refer to.
type collectionOrder int

// The collections, in the order in which a commit writes them.
const (
	TimelineCollection collectionOrder = iota
	PostingCollection
	rowCollections // the number of collections
)

// Collect returns the transaction's collection of a kind, which starts as the zero value.
func Collect[T any, P interface {
	*T
	rowCollection
}](tx *Tx, order collectionOrder) P {
	if tx.collected[order] == nil {
		tx.collected[order] = P(new(T))
	}
	return tx.collected[order].(P) //nolint:forcetypeassert // one type has one place in the order
}
