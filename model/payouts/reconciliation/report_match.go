package reconciliation

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"parapet/model/account"
	"parapet/model/claims"
	"parapet/model/kernel/actor"
	"parapet/model/kernel/store"
	"parapet/model/payouts"
	"parapet/model/underwriting"
)

// lineRow is a report line to be matched with its payout.
type lineRow struct {
	bun.BaseModel `bun:"table:rail_report_lines,alias:rl"`

	ReportID    uuid.UUID `bun:",pk,type:uuid"`
	Number      int       `bun:",pk"`
	Rail        string
	Key         string
	Reference   string
	Amount      int64
	Currency    string
	Account     string
	Status      string
	Code        string
	ReportedAt  time.Time
	MatchResult *string
	PayoutID    *uuid.UUID `bun:"type:uuid"`

	keyText   string          // the key as reported: a file may have room only for a short one
	parsedKey payouts.RailKey // zero if it is not a key of ours
	bank      string          // the bank that made the report; empty if it has no identity
	policy    *underwriting.PolicyRow
}

// lineMatcher matches a slice of lines with their payouts in memory, and saves the
// results in a few statements.
type lineMatcher struct {
	*store.Tx

	lines               []*lineRow
	locked              map[uuid.UUID]payouts.LockedPayout
	siblings            map[uuid.UUID][]*claims.PayoutRow // by claim, oldest first
	recipientsByKey     map[string][]payouts.Recipient    // by key
	arrived             map[payouts.Arrival]*time.Time    // money known to have arrived, see ArrivalRow
	accounts            map[uuid.UUID]string              // masked, by payout method
	intendedMethods     map[uuid.UUID]*uuid.UUID          // for payouts that have no method yet
	claimsWithNewPayout map[uuid.UUID]bool                // claims for which this slice has created a payout
	replacements        []*claims.PayoutRow               // payouts that replace a returned one
	exceptions          []*payouts.ExceptionRow
	reportedPayouts     []uuid.UUID // payouts that a line names
	changedClaims       map[uuid.UUID]*claims.ClaimRow
}

// matchLines matches up to most lines, oldest first, and reports whether more may wait.
// One process matches at a time, so that a return never precedes its payment. A slice
// ends before a line about a claim for which it has created a payout, because that
// payout can be changed only once it is saved.
func matchLines(ctx context.Context, tx *store.Tx, most int) (more bool, err error) {
	if _, err := tx.NewRaw("select " + matchLockSQL).Exec(ctx); err != nil {
		return false, fmt.Errorf("lock matching: %w", err)
	}
	m := lineMatcher{
		Tx: tx, locked: map[uuid.UUID]payouts.LockedPayout{}, siblings: map[uuid.UUID][]*claims.PayoutRow{}, recipientsByKey: map[string][]payouts.Recipient{}, arrived: map[payouts.Arrival]*time.Time{},
		accounts: map[uuid.UUID]string{}, intendedMethods: map[uuid.UUID]*uuid.UUID{}, claimsWithNewPayout: map[uuid.UUID]bool{}, changedClaims: map[uuid.UUID]*claims.ClaimRow{},
	}
	err = tx.NewSelect().Model(&m.lines).Where("rl.match_result is null").OrderExpr("rl.report_id, rl.number").Limit(int64(most)).Scan(ctx)
	if err != nil || len(m.lines) == 0 {
		return false, err
	}
	more = len(m.lines) == most
	if err := m.load(ctx); err != nil {
		return false, err
	}
	for i, line := range m.lines {
		if out, ok := m.lockedPayoutOf(line); ok && m.claimsWithNewPayout[out.Claim.ID] {
			m.lines, more = m.lines[:i], true
			break
		}
		restore := tx.WithActor(actor.Actor{Kind: actor.KindRail, Name: line.Rail})
		result, err := m.applyLine(ctx, line)
		restore()
		if err != nil {
			return false, err
		}
		line.MatchResult = &result
		m.recordException(line)
	}
	return more, m.save(ctx)
}

// matchLockSQL takes the lock of the one process that matches.
const matchLockSQL = "pg_advisory_xact_lock(hashtext('match reports'))"

// lockedPayoutOf returns the locked payout that a line names.
func (m *lineMatcher) lockedPayoutOf(line *lineRow) (payouts.LockedPayout, bool) {
	if line.PayoutID == nil {
		return payouts.LockedPayout{}, false
	}
	out, ok := m.locked[*line.PayoutID]
	return out, ok
}

// load locks the payouts that the lines name and their claims, and reads the other
// payouts of these claims, which cannot change under the claim's lock.
func (m *lineMatcher) load(ctx context.Context) error {
	ids, err := m.findPayoutsByKey(ctx)
	if err != nil {
		return err
	}
	found, err := m.findPayoutsByReference(ctx)
	if err != nil {
		return err
	}
	locked, err := payouts.LockPayouts(ctx, m.Tx, "", append(ids, found...))
	if err != nil || len(locked) == 0 {
		return err
	}
	var claimIDs []uuid.UUID
	for _, out := range locked {
		m.locked[out.Row.ID] = out
		claimIDs = append(claimIDs, out.Claim.ID)
	}
	var rows []*claims.PayoutRow
	if err := m.NewSelect().Model(&rows).Where("po.claim_id in (?)", bun.List(claimIDs)).OrderExpr("po.id").Scan(ctx); err != nil {
		return fmt.Errorf("read payouts: %w", err)
	}
	for _, row := range rows {
		if out, ok := m.locked[row.ID]; ok {
			row = out.Row
		}
		m.siblings[row.ClaimID] = append(m.siblings[row.ClaimID], row)
	}
	if err := m.loadHistory(ctx, rows); err != nil {
		return err
	}
	return m.loadAccounts(ctx)
}

// findPayoutsByKey finds the payouts of the lines' keys, and the policies of keys whose
// payout is unknown.
func (m *lineMatcher) findPayoutsByKey(ctx context.Context) (ids []uuid.UUID, err error) {
	keys := make([]string, len(m.lines))
	for i, line := range m.lines {
		keys[i] = line.Key
	}
	if err := payouts.ExpandShortKeys(ctx, m, keys); err != nil {
		return nil, err
	}
	owners, err := payouts.FindPayoutsByKeys(ctx, m, keys)
	if err != nil {
		return nil, err
	}
	var policies []uuid.UUID
	for i, line := range m.lines {
		line.keyText, line.Key = line.Key, keys[i]
		line.parsedKey, _ = payouts.ParseRailKey(line.Key)
		if id, ok := owners[line.Key]; ok {
			line.PayoutID, ids = &id, append(ids, id)
		} else if id, ok := policyOfKey(line.Key); ok {
			policies = append(policies, id)
		}
	}
	if len(policies) == 0 {
		return ids, nil
	}
	known, err := store.LoadRowsByID[underwriting.PolicyRow](ctx, m, policies)
	if err != nil {
		return nil, fmt.Errorf("read policies: %w", err)
	}
	for _, line := range m.lines {
		if id, ok := policyOfKey(line.Key); ok && line.PayoutID == nil {
			line.policy = known[id]
		}
	}
	return ids, nil
}

// loadHistory reads which banks received which keys of the payouts, and under which
// keys money is known to have arrived.
func (m *lineMatcher) loadHistory(ctx context.Context, rows []*claims.PayoutRow) error {
	ids, claims := make([]uuid.UUID, len(rows)), make([]uuid.UUID, len(rows))
	for i, row := range rows {
		ids[i], claims[i] = row.ID, row.ClaimID
	}
	if err := m.loadRecipients(ctx, ids); err != nil {
		return err
	}
	var arrivals []payouts.ArrivalRow
	if err := m.NewSelect().Model(&arrivals).Where("claim_id in (?)", bun.List(claims)).Scan(ctx); err != nil {
		return fmt.Errorf("read arrivals: %w", err)
	}
	for _, a := range arrivals {
		m.arrived[payouts.Arrival{Claim: a.ClaimID, Part: a.Installment, Number: a.IdempotencySeq}] = a.ReportedAt
	}
	return nil
}

// loadAccounts reads the intended accounts of payouts whose lines name the paid
// account, except erased accounts.
func (m *lineMatcher) loadAccounts(ctx context.Context) error {
	var ids []uuid.UUID
	for _, line := range m.lines {
		if out, ok := m.lockedPayoutOf(line); ok && line.Account != "" && out.Row.PayoutMethodID != nil {
			ids = append(ids, *out.Row.PayoutMethodID)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	var methods []payouts.PayoutMethodRow
	err := m.NewSelect().Model(&methods).Column("id", "type", "last4").Where("pm.id in (?)", bun.List(ids)).Where("length(pm.sealed) > 0").Scan(ctx)
	if err != nil {
		return fmt.Errorf("read payout methods: %w", err)
	}
	for _, method := range methods {
		m.accounts[method.ID] = account.Masked(method.Type, method.Last4)
	}
	return nil
}

// findPayoutsByReference finds the payouts of lines that carry only the rail's
// reference. A payout without a rail was never with one.
func (m *lineMatcher) findPayoutsByReference(ctx context.Context) (ids []uuid.UUID, err error) {
	var references []string
	for _, line := range m.lines {
		if line.Key == "" {
			references = append(references, line.Reference)
		}
	}
	if len(references) == 0 {
		return nil, nil
	}
	var rows []claims.PayoutRow
	err = m.NewSelect().Model(&rows).Where("po.provider_reference in (?)", bun.List(references)).Where("po.provider is not null").OrderExpr("po.id").Scan(ctx)
	if err != nil {
		return nil, fmt.Errorf("find payouts by reference: %w", err)
	}
	for i := range rows {
		for _, line := range m.lines {
			if line.Key == "" && line.Reference == *rows[i].ProviderReference && line.Rail == *rows[i].Provider {
				line.PayoutID = &rows[i].ID
			}
		}
		ids = append(ids, rows[i].ID)
	}
	return ids, nil
}

// save writes the slice to the database. Replacement payouts are inserted last.
func (m *lineMatcher) save(ctx context.Context) error {
	var moved []payouts.LockedPayout
	for _, out := range m.locked {
		moved = append(moved, out)
	}
	slices.SortFunc(moved, func(a, b payouts.LockedPayout) int { return slices.Compare(a.Row.ID[:], b.Row.ID[:]) })
	if err := m.closePaidClaims(ctx, moved); err != nil {
		return err
	}
	payouts.SavePayouts(m.Tx, moved)
	m.saveClaims()
	for _, row := range m.replacements {
		m.QueueInsert(row)
	}
	numbers, reports, results := make([]int, len(m.lines)), make([]uuid.UUID, len(m.lines)), make([]string, len(m.lines))
	payouts := make([]*uuid.UUID, len(m.lines))
	for i, line := range m.lines {
		numbers[i], reports[i], results[i], payouts[i] = line.Number, line.ReportID, *line.MatchResult, line.PayoutID
	}
	m.Batch.Queue(`update rail_report_lines as rl set match_result = n.result, payout_id = n.payout_id
		from unnest($1::uuid[], $2::int[], $3::text[], $4::uuid[]) as n (report_id, number, result, payout_id)
		where rl.report_id = n.report_id and rl.number = n.number`, reports, numbers, results, payouts)
	m.Batch.Queue(`update reconciliation_exceptions set closed_at = $1, closed_by = 'parapet', closed_reason = 'A later report explains it.'
		where payout_id = any($2) and kind = 'missing' and closed_at is null`, m.Now, m.reportedPayouts)
	// "offset 0" makes Postgres look each line up. Without it, the plan that it made while the
	// table was small reads the exceptions of all lines for each slice; "closed_at is null" in
	// place of "closed_by is null", which an operator's answer meanwhile makes false, does too.
	m.Batch.Queue(`update reconciliation_exceptions set closed_at = $1, closed_by = 'parapet', closed_reason = 'The line names a payout that exists now.'
		where id in (select known.id from unnest($2::uuid[], $3::int[]) as n (report_id, number) cross join lateral (
			select id from reconciliation_exceptions fi where fi.report_id = n.report_id and fi.line = n.number and fi.kind = 'unknown' and fi.closed_at is null offset 0) as known) and closed_by is null`,
		m.Now, reports, numbers)
	for _, row := range m.exceptions {
		m.QueueInsert(row)
	}
	if err := m.Flush(ctx); err != nil {
		return fmt.Errorf("write what was matched: %w", err)
	}
	return nil
}
