package model

import (
	"context"
	"time"

	"github.com/google/uuid"
)

func stringOrNil(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

func timeOrDefault(given *time.Time, otherwise time.Time) time.Time {
	if given == nil {
		return otherwise
	}
	return *given
}

// uuidArrayText formats ids as a Postgres array.
func uuidArrayText(ids []uuid.UUID) string {
	text := []byte{'{'}
	for i, id := range ids {
		if i > 0 {
			text = append(text, ',')
		}
		text = append(text, id.String()...)
	}
	return string(append(text, '}'))
}

func insertRows(ctx context.Context, tx *Tx, rows any) error {
	_, err := tx.NewInsert().Model(rows).Exec(ctx)
	return err
}
