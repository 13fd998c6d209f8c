package privacy

import (
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"fmt"
	"time"

	"github.com/google/uuid"

	"parapet/model/events"
	"parapet/model/kernel/apperr"
	"parapet/model/kernel/compress"
	"parapet/model/kernel/store"
)

// loadRedactionKey returns the key that signs redacted events. It rejects a key that did
// not sign the history, because the redactions would then never verify.
func (e *erasureRun) loadRedactionKey(ctx context.Context) (ed25519.PrivateKey, error) {
	key, err := events.CheckpointPrivateKey(e.Store)
	if err != nil {
		return nil, err
	}
	last := new(events.CheckpointRow)
	err = e.NewSelect().Model(last).Where("partner = ?", e.partner).OrderExpr("sequence desc").Limit(1).Scan(ctx)
	switch {
	case store.IsNoRows(err):
		return key, nil
	case err != nil:
		return nil, fmt.Errorf("read checkpoint: %w", err)
	case !ed25519.Verify(key.Public().(ed25519.PublicKey), last.SignedText(), last.Signature): //nolint:forcetypeassert // ed25519 returns this type
		return nil, apperr.Fail(apperr.CodeStateConflict, "The fingerprint key is not the one that signed this partner's history. Nothing was erased; use the server's key.")
	}
	return key, nil
}

func (e *erasureRun) redactEvents(ctx context.Context) error {
	var rows []struct {
		ID          uuid.UUID `bun:"type:uuid"`
		SubjectType string
		Data        compress.JSON
		Numbered    bool
		Ignored     []string `bun:",array"`
	}
	var all []uuid.UUID
	for _, ids := range [][]uuid.UUID{e.quotes, e.policies, e.claims, e.attachments, e.messages, e.methods} {
		all = append(all, ids...)
	}
	err := e.NewRaw(`select e.id, e.subject_type, e.data, n.event_id is not null as numbered, q.ignored_context as ignored from events e
		left join event_sequence n on n.event_id = e.id and n.partner = e.partner
		left join quotes q on q.id = e.subject_id and q.partner = e.partner
		where e.partner = ? and e.subject_id in (?) and not exists (select from event_redactions x where x.event_id = e.id and x.partner = e.partner)
		order by e.id`, e.partner, sqlList(all)).Scan(ctx, &rows)
	if err != nil {
		return fmt.Errorf("read events: %w", err)
	}
	key, err := e.loadRedactionKey(ctx)
	if err != nil {
		return err
	}
	for _, row := range rows {
		redacted, err := redactJSON(row.Data, "/object", newRedactionRule(row.SubjectType, row.Ignored))
		if err != nil {
			return err
		}
		if string(redacted) == string(row.Data) {
			continue
		}
		if !row.Numbered { // otherwise its hash would cover the redacted data
			e := apperr.Fail(apperr.CodeStateConflict, "An event about it has no number yet; try again in a second.")
			e.RetryAfter = time.Second
			return e
		}
		before, after := sha256.Sum256(row.Data), sha256.Sum256(redacted)
		mark := &events.RedactionRow{EventID: row.ID, Partner: e.partner, RedactedAt: e.Now, DataHash: before[:], RedactedHash: after[:]}
		mark.Signature = ed25519.Sign(key, mark.SignedText())
		e.QueueInsert(mark)
		if _, err := e.NewRaw("update events set data = ?, data_hash = ? where id = ? and partner = ?", redacted, after[:], row.ID, e.partner).Exec(ctx); err != nil {
			return fmt.Errorf("redact event: %w", err)
		}
		e.Events++
	}
	return nil
}
