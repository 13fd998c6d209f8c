package store

import (
	"context"
	"fmt"
	"reflect"

	"github.com/uptrace/bun/schema"

	"parapet/model/kernel/bulk"
)

// InsertRows inserts a slice of rows in one statement.
func InsertRows(ctx context.Context, tx *Tx, rows any) error {
	_, err := tx.NewInsert().Model(rows).Exec(ctx)
	return err
}

// QueueInsertRows queues the insert of rows, a slice of pointers to one row type, for the next
// flush, and nothing without rows. Each row costs less than by InsertRows; see package bulk.
func (tx *Tx) QueueInsertRows(rows any) error {
	table := tx.tableOf(rows)
	if reflect.ValueOf(rows).Len() >= bulk.MinCopiedRows {
		tx.copies = append(tx.copies, bulk.CopyRows(table, rows, len(tx.Batch.QueuedQueries)))
		return nil
	}
	text := tx.Store.Statements.Get(rows, "insert rows", func() string { return bulk.InsertStatement(table) })
	return tx.queueRows(text, table.Fields, rows)
}

// QueueUpdateRows queues the update of columns of locked rows, a slice of pointers to one
// row type, for the next flush; an empty slice queues nothing. It checks no version.
func (tx *Tx) QueueUpdateRows(rows any, columns ...string) error {
	table := tx.tableOf(rows)
	text := tx.Store.Statements.Get(rows, fmt.Sprint("update rows", columns), func() string { return bulk.UpdateStatement(table, columns...) })
	return tx.queueRows(text, bulk.UpdateFields(table, columns...), rows)
}

func (tx *Tx) queueRows(text string, fields []*schema.Field, rows any) error {
	args, err := bulk.Arguments(fields, rows)
	if err == nil && reflect.ValueOf(rows).Len() > 0 {
		tx.Batch.Queue(text, args...)
	}
	return err
}

func (tx *Tx) tableOf(rows any) *schema.Table {
	return tx.Store.DB.Table(reflect.TypeOf(rows).Elem().Elem())
}

// Rows changed per transaction of a sweep: one by one, and in sets.
const (
	SweepBatchSize    = 200
	SweepSetBatchSize = 2000
)
