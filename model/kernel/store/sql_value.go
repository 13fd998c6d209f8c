package store

import (
	"context"
	"time"

	"github.com/google/uuid"
)

// StringOrNil returns nil for an empty text.
func StringOrNil(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

// TimeOrDefault returns the given time, or otherwise without one.
func TimeOrDefault(given *time.Time, otherwise time.Time) time.Time {
	if given == nil {
		return otherwise
	}
	return *given
}

// UuidArrayText formats ids as a Postgres array.
func UuidArrayText(ids []uuid.UUID) string {
	text := []byte{'{'}
	for i, id := range ids {
		if i > 0 {
			text = append(text, ',')
		}
		text = append(text, id.String()...)
	}
	return string(append(text, '}'))
}

// InsertRows inserts a slice of rows in one statement.
func InsertRows(ctx context.Context, tx *Tx, rows any) error {
	_, err := tx.NewInsert().Model(rows).Exec(ctx)
	return err
}
