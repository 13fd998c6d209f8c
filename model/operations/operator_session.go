package operations

import (
	"context"
	"fmt"
	"time"

	"parapet/model/kernel/store"
)

// EndSession ends a session of the operators' pages on every node. The row is kept until
// expiresAt, when the cookie expires; expired rows are deleted.
func (s *Service) EndSession(ctx context.Context, id string, expiresAt time.Time) error {
	_, err := s.Pool.Exec(ctx, `with expired as (delete from ended_sessions where expires_at < clock_timestamp() - interval '1 day')
		insert into ended_sessions (id, expires_at) values ($1, $2) on conflict do nothing`, id, expiresAt)
	if err != nil {
		return store.TranslateError(fmt.Errorf("end session: %w", err))
	}
	return nil
}

// IsSessionEnded reports whether EndSession ended the session.
func (s *Service) IsSessionEnded(ctx context.Context, id string) (ended bool, err error) {
	err = s.Pool.QueryRow(ctx, "select exists (select from ended_sessions where id = $1)", id).Scan(&ended)
	if err != nil {
		return false, store.TranslateError(fmt.Errorf("read ended sessions: %w", err))
	}
	return ended, nil
}
