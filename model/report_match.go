package model

import (
	"context"
	"fmt"
	"slices"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"parapet/model/account"
)

// lineRow is one line of a report that is held against its payout.
type lineRow struct {
	bun.BaseModel `bun:"table:rail_report_lines,alias:rl"`

	ReportID  uuid.UUID `bun:",pk,type:uuid"`
	Number    int       `bun:",pk"`
	Rail      string
	Key       string
	Reference string
	Amount    int64
	Currency  string
	Account   string
	Status    string
	Code      string
	Result    *string

	payout *uuid.UUID
}

// matching holds a slice of lines against their payouts, in memory, and writes what
// follows in a few statements.
type matching struct {
	*unit

	lines    []*lineRow
	locked   map[uuid.UUID]outgoing
	siblings map[uuid.UUID][]*payoutRow // by claim, oldest first
	accounts map[uuid.UUID]string       // masked, by payout method
	again    []*payoutRow               // that take a returned one's place
	findings []*findingRow
	told     []uuid.UUID // payouts of which a line tells
	changed  map[uuid.UUID]*claimRow
}

// matchLines matches a batch of lines, the oldest first. One process does so at a
// time: a return must not overtake its payment.
func (u *unit) matchLines(ctx context.Context) (int, error) {
	if _, err := u.NewRaw("select pg_advisory_xact_lock(hashtext('match reports'))").Exec(ctx); err != nil {
		return 0, fmt.Errorf("lock matching: %w", err)
	}
	m := matching{unit: u, locked: map[uuid.UUID]outgoing{}, siblings: map[uuid.UUID][]*payoutRow{}, accounts: map[uuid.UUID]string{}, changed: map[uuid.UUID]*claimRow{}}
	err := u.NewSelect().Model(&m.lines).Where("rl.result is null").OrderExpr("rl.report_id, rl.number").Limit(sweepSize).Scan(ctx)
	if err != nil || len(m.lines) == 0 {
		return 0, err
	}
	if err := m.read(ctx); err != nil {
		return 0, err
	}
	for _, line := range m.lines {
		restore := u.as(Actor{Kind: ActorRail, Name: line.Rail})
		result, err := m.heed(ctx, line)
		restore()
		if err != nil {
			return 0, err
		}
		line.Result = &result
		m.find(line)
	}
	return len(m.lines), m.write(ctx)
}

// read locks the payouts that the lines name and their claims, and reads what else
// these claims pay: under the claim's lock it does not move.
func (m *matching) read(ctx context.Context) error {
	keys := make([]string, len(m.lines))
	for i, line := range m.lines {
		keys[i] = line.Key
	}
	owners, err := payoutsOfKeys(ctx, m, keys)
	if err != nil {
		return err
	}
	var ids []uuid.UUID
	for _, line := range m.lines {
		if id, ok := owners[line.Key]; ok {
			line.payout, ids = &id, append(ids, id)
		}
	}
	found, err := m.referred(ctx)
	if err != nil {
		return err
	}
	locked, err := m.lockPayouts(ctx, "", append(ids, found...))
	if err != nil || len(locked) == 0 {
		return err
	}
	var claims []uuid.UUID
	for _, out := range locked {
		m.locked[out.row.ID] = out
		claims = append(claims, out.claim.ID)
	}
	var rows []*payoutRow
	if err := m.NewSelect().Model(&rows).Where("po.claim_id in (?)", bun.List(claims)).OrderExpr("po.id").Scan(ctx); err != nil {
		return fmt.Errorf("read payouts: %w", err)
	}
	for _, row := range rows {
		if out, ok := m.locked[row.ID]; ok {
			row = out.row
		}
		m.siblings[row.ClaimID] = append(m.siblings[row.ClaimID], row)
	}
	return m.readAccounts(ctx)
}

// readAccounts reads whom the payouts were meant for of which a line says whom it
// paid, but for accounts that were erased.
func (m *matching) readAccounts(ctx context.Context) error {
	var ids []uuid.UUID
	for _, line := range m.lines {
		if line.Account == "" || line.payout == nil {
			continue
		}
		if out, ok := m.locked[*line.payout]; ok && out.row.PayoutMethodID != nil {
			ids = append(ids, *out.row.PayoutMethodID)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	var methods []payoutMethodRow
	err := m.NewSelect().Model(&methods).Column("id", "type", "last4").Where("pm.id in (?)", bun.List(ids)).Where("length(pm.sealed) > 0").Scan(ctx)
	if err != nil {
		return fmt.Errorf("read payout methods: %w", err)
	}
	for _, method := range methods {
		m.accounts[method.ID] = account.Masked(method.Type, method.Last4)
	}
	return nil
}

// referred finds the payouts of lines that carry the rail's reference only.
func (m *matching) referred(ctx context.Context) (ids []uuid.UUID, err error) {
	var references []string
	for _, line := range m.lines {
		if line.Key == "" {
			references = append(references, line.Reference)
		}
	}
	if len(references) == 0 {
		return nil, nil
	}
	var rows []payoutRow
	if err := m.NewSelect().Model(&rows).Where("po.provider_reference in (?)", bun.List(references)).Scan(ctx); err != nil {
		return nil, fmt.Errorf("find payouts by reference: %w", err)
	}
	for i := range rows {
		for _, line := range m.lines {
			if line.Key == "" && line.Reference == *rows[i].ProviderReference && line.Rail == *rows[i].Provider {
				line.payout = &rows[i].ID
			}
		}
		ids = append(ids, rows[i].ID)
	}
	return ids, nil
}

// write puts the slice into the database. What takes a payout's place comes after it.
func (m *matching) write(ctx context.Context) error {
	var moved []outgoing
	for _, out := range m.locked {
		moved = append(moved, out)
	}
	slices.SortFunc(moved, func(a, b outgoing) int { return slices.Compare(a.row.ID[:], b.row.ID[:]) })
	if err := m.closePaid(ctx, moved); err != nil {
		return err
	}
	m.keepPayouts(moved)
	m.keepClaims()
	for _, row := range m.again {
		m.insert(row)
	}
	for _, row := range m.findings {
		m.insert(row)
	}
	numbers, reports, results := make([]int, len(m.lines)), make([]uuid.UUID, len(m.lines)), make([]string, len(m.lines))
	payouts := make([]*uuid.UUID, len(m.lines))
	for i, line := range m.lines {
		numbers[i], reports[i], results[i], payouts[i] = line.Number, line.ReportID, *line.Result, line.payout
	}
	m.later.Queue(`update rail_report_lines as rl set result = n.result, payout_id = n.payout_id
		from unnest($1::uuid[], $2::int[], $3::text[], $4::uuid[]) as n (report_id, number, result, payout_id)
		where rl.report_id = n.report_id and rl.number = n.number`, reports, numbers, results, payouts)
	m.later.Queue(`update findings set closed_at = $1, closed_by = 'parapet', closed_reason = 'A later report tells of it.'
		where payout_id = any($2) and kind = 'missing' and closed_at is null`, m.now, m.told)
	if err := m.send(ctx); err != nil {
		return fmt.Errorf("write what was matched: %w", err)
	}
	return nil
}
