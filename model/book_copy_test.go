package model_test

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"parapet/model/events"
	"parapet/model/events/webhooks"
	"parapet/model/modeltest"
)

// portfolioCopier copies a template repeatedly into a book.
type portfolioCopier struct {
	t              *testing.T
	template, book *modeltest.Bundle
	copies         int
	choosePartner  func(*rand.Rand) string // of a copy

	texts   bookTexts
	tables  []*bookTable
	chains  map[string]*bookChain // by partner
	end     time.Time             // of the template
	indexes []string              // statements
}

// bookTable is a table of the template and the connection that fills the book's.
type bookTable struct {
	name    string
	columns []string
	rows    [][]bookText // by column
	out     *bufio.Writer
	pipe    *io.PipeWriter
}

// bookChain is the end of a partner's events.
type bookChain struct {
	sequence int64
	hash     []byte
}

func newCopier(t *testing.T, template, book *modeltest.Bundle, copies int) *portfolioCopier {
	t.Helper()
	c := &portfolioCopier{t: t, template: template, book: book, copies: copies, choosePartner: chooseBookPartner, chains: map[string]*bookChain{}, end: template.Now()}
	c.texts.since = c.end.AddDate(0, 0, -60)
	c.texts.replaceText("acme", func(b *bookCopy, _ string) string { return b.partner })
	c.texts.replaceText(bookMark, func(b *bookCopy, _ string) string { return b.referencePrefix() })
	return c
}

func (c *portfolioCopier) execSQL(text string, args ...any) {
	c.t.Helper()
	_, err := c.book.DB.Pool.Exec(c.t.Context(), text, args...)
	require.NoError(c.t, err)
}

// listTexts returns the text column of a query's result.
func (c *portfolioCopier) listTexts(m *modeltest.Bundle, query string, args ...any) []string {
	c.t.Helper()
	rows, err := m.DB.Pool.Query(c.t.Context(), query, args...)
	require.NoError(c.t, err)
	texts, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(c.t, err)
	return texts
}

// bookTables lists the copied tables, events first: records that belong to a partner and
// the data of events and reports. Records of the partner itself and short-lived ones are
// not copied.
const bookTables = `select t.table_name::text from information_schema.tables t join information_schema.columns c using (table_schema, table_name)
	where t.table_schema = 'public' and t.table_type = 'BASE TABLE' and (t.table_name in ('occurrences', 'occurrence_aliases', 'observations', 'matchings', 'rail_reports', 'rail_report_lines')
	or c.column_name = 'partner' and t.table_name not in ('event_outbox', 'event_checkpoints', 'webhook_endpoints', 'webhook_progress', 'deliveries', 'invariant_violations'))
	and not exists (select from pg_class where relname = t.table_name and relispartition) group by 1 order by t.table_name::text = 'events' desc, 1`

// readTemplate reads the template's rows and finds the texts in them that differ in each
// copy.
func (c *portfolioCopier) readTemplate() {
	c.t.Helper()
	for _, secret := range c.listTexts(c.template, "select distinct fingerprint from payout_methods") {
		c.texts.replaceText(secret, func(b *bookCopy, _ string) string {
			return modeltest.FingerprintOf(modeltest.Keys(), b.partner, modeltest.PolicyIBANMethod("").Number)
		})
	}
	for _, digest := range c.listTexts(c.template, "select digest from rail_reports") {
		c.texts.replaceText(digest, func(b *bookCopy, text string) string {
			sum := sha256.Sum256(fmt.Append(nil, text, b.number))
			return hex.EncodeToString(sum[:])
		})
	}
	for _, debt := range c.listTexts(c.template, "select debt_digest from payouts") {
		c.texts.replaceText(debt, c.debtDigest(debt))
	}
	for i, hash := range c.listTexts(c.template, "select distinct receipt_hash from determinations order by 1") {
		c.texts.replaceText(hash, func(b *bookCopy, _ string) string { return b.receipts[i] })
		c.texts.receipts = append(c.texts.receipts, c.texts.parseText(c.listTexts(c.template, "select receipt::text from determinations where receipt_hash = $1", hash)[0]))
	}
	for _, name := range c.listTexts(c.template, bookTables) {
		c.tables = append(c.tables, c.readTable(name))
	}
}

// DebtDigest computes the digest that a payout's rail key contains.
func (c *portfolioCopier) debtDigest(digest string) func(*bookCopy, string) string {
	const query = "select %s from payouts po join claims c on c.id = po.claim_id and c.partner = po.partner where po.debt_digest = $1"
	policy := uuid.MustParse(c.listTexts(c.template, fmt.Sprintf(query, "po.policy_id::text"), digest)[0])
	claim := uuid.MustParse(c.listTexts(c.template, fmt.Sprintf(query, "c.id::text"), digest)[0])
	part, err := strconv.Atoi(c.listTexts(c.template, fmt.Sprintf(query, "po.installment::text"), digest)[0])
	require.NoError(c.t, err)
	occurrence := c.listTexts(c.template, fmt.Sprintf(query, "coalesce(c.occurrence_key, '')"), digest)[0]
	return func(b *bookCopy, _ string) string {
		return modeltest.DebtDigest(b.partner, b.mapID(policy), b.mapID(claim), strings.ReplaceAll(occurrence, bookMark, b.referencePrefix()), part)
	}
}

func (c *portfolioCopier) readTable(name string) *bookTable {
	c.t.Helper()
	table := &bookTable{name: name, columns: c.listTexts(c.template, "select column_name::text from information_schema.columns where table_name = $1 and table_schema = 'public' order by ordinal_position", name)}
	selected := make([]string, len(table.columns))
	for i, column := range table.columns {
		if selected[i] = column; name == "events" && column == "data" { // as text, in the escape form of bytea
			selected[i] = `replace(convert_from(data, 'UTF8'), '\', '\\')` // the template stores events plain
		}
	}
	order := map[string]string{"event_sequence": "sequence", "timeline_entries": "claim_id, sequence"}[name]
	if order == "" {
		order = table.columns[0]
	}
	conn, err := c.template.DB.Pool.Acquire(c.t.Context())
	require.NoError(c.t, err)
	defer conn.Release()
	var text bytes.Buffer
	_, err = conn.Conn().PgConn().CopyTo(c.t.Context(), &text, fmt.Sprintf("copy (select %s from %s order by %s) to stdout", strings.Join(selected, ", "), name, order))
	require.NoError(c.t, err)
	for line := range strings.Lines(text.String()) {
		values := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		row := make([]bookText, len(values))
		for i, value := range values {
			row[i] = c.texts.parseText(value)
		}
		table.rows = append(table.rows, row)
	}
	return table
}

// dropIndexes drops the indexes that slow COPY down; createIndexes creates them again.
func (c *portfolioCopier) dropIndexes() {
	c.t.Helper()
	for _, name := range c.listTexts(c.book, `select i.indexrelid::regclass::text from pg_index i join pg_class t on t.oid = i.indrelid and t.relnamespace = 'public'::regnamespace
		where t.relname = any($1) and not exists (select from pg_constraint k where k.conindid = i.indexrelid)`, c.tableNames()) {
		// The definition of an index of a partitioned table says ON ONLY: it leaves the partitions without one.
		c.indexes = append(c.indexes, c.listTexts(c.book, "select replace(pg_get_indexdef($1::regclass), ' ON ONLY ', ' ON ')", name)...)
		c.execSQL("drop index " + name)
	}
}

func (c *portfolioCopier) tableNames() []string {
	names := make([]string, len(c.tables))
	for i, table := range c.tables {
		names[i] = table.name
	}
	return names
}

func (c *portfolioCopier) createIndexes() {
	c.t.Helper()
	var all errgroup.Group
	all.SetLimit(2)
	for _, statement := range c.indexes {
		all.Go(func() error {
			_, err := c.book.DB.Pool.Exec(c.t.Context(), "set maintenance_work_mem = '512MB'; "+statement+"; reset maintenance_work_mem")
			return err
		})
	}
	require.NoError(c.t, all.Wait())
	require.Empty(c.t, c.listTexts(c.book, "select indexrelid::regclass::text from pg_index where not indisvalid"), "each partition has each index")
}

// copyAll writes all copies; each table has a connection of its own.
func (c *portfolioCopier) copyAll() {
	c.t.Helper()
	var all errgroup.Group
	for _, table := range c.tables {
		in, pipe := io.Pipe()
		table.pipe, table.out = pipe, bufio.NewWriterSize(pipe, 1<<20)
		all.Go(func() error {
			err := c.copyTable(table, in)
			_ = in.CloseWithError(err)
			return err
		})
	}
	random := rand.New(rand.NewPCG(3, 4))
	for i := range c.copies {
		if c.copyOnce(i, random) != nil {
			break // the table's copy reports the error
		}
	}
	for _, table := range c.tables {
		_ = table.pipe.CloseWithError(table.out.Flush())
	}
	require.NoError(c.t, all.Wait())
}

func (c *portfolioCopier) copyTable(table *bookTable, in io.Reader) error {
	conn, err := pgx.Connect(c.t.Context(), c.book.URL)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(c.t.Context()) }()
	// Foreign keys and the triggers of insert-only tables are off for speed; the
	// invariants are checked at the end.
	if _, err := conn.Exec(c.t.Context(), "set session_replication_role = replica; set synchronous_commit = off; set default_toast_compression = lz4"); err != nil {
		return err
	}
	_, err = conn.PgConn().CopyFrom(c.t.Context(), in, fmt.Sprintf("copy %s (%s) from stdin", table.name, strings.Join(table.columns, ", ")))
	if err != nil {
		return fmt.Errorf("copy %s: %w", table.name, err)
	}
	return nil
}

// copyOnce writes one copy. The first ones are the oldest; the last is one hour old.
func (c *portfolioCopier) copyOnce(number int, random *rand.Rand) error {
	partner := c.choosePartner(random)
	age := bookSpan / time.Duration(c.copies) * time.Duration(c.copies-number-1) // the product with the span overflows at 356 copies
	b := &bookCopy{number: number, partner: partner, shift: (c.book.Now().Sub(c.end) - age - time.Hour).Truncate(time.Second), seed: random.Uint64()}
	c.texts.computeOwnValues(b)
	for _, table := range c.tables {
		for _, row := range table.rows {
			if err := c.copyRow(table, b, row); err != nil {
				return err
			}
		}
	}
	return nil
}

// chooseBookPartner returns the partner of a copy by bookShares.
func chooseBookPartner(random *rand.Rand) (partner string) {
	share := random.IntN(100)
	for _, p := range bookShares {
		if partner = p.slug; share < p.share {
			break
		}
		share -= p.share
	}
	return partner
}

func (c *portfolioCopier) copyRow(table *bookTable, b *bookCopy, row []bookText) error {
	values := make([][]byte, len(row))
	for i := range row {
		values[i] = row[i].textFor(b)
	}
	switch table.name {
	case "events":
		b.saveEvent(table, values)
	case "event_sequence":
		c.chainEvent(table, b, values)
	case "payout_methods":
		c.sealAccount(table, b, values)
	}
	for i, value := range values {
		if i > 0 {
			_ = table.out.WriteByte('\t')
		}
		_, _ = table.out.Write(value)
	}
	return table.out.WriteByte('\n')
}

func (t *bookTable) columnValue(values [][]byte, name string) *[]byte {
	for i := range t.columns {
		if t.columns[i] == name {
			return &values[i]
		}
	}
	panic("no column " + name)
}

// chainEvent gives an event its partner's next sequence and hash.
func (c *portfolioCopier) chainEvent(table *bookTable, b *bookCopy, values [][]byte) {
	end := c.chains[b.partner]
	if end == nil {
		end = &bookChain{hash: make([]byte, sha256.Size)}
		c.chains[b.partner] = end
	}
	event := b.events[uuid.MustParse(string(*table.columnValue(values, "event_id")))]
	end.sequence++
	end.hash = events.ChainHash(end.hash, end.sequence, event.id, event.kind, event.at, event.data[:])
	*table.columnValue(values, "sequence") = strconv.AppendInt(nil, end.sequence, 10)
	*table.columnValue(values, "hash") = fmt.Appendf(nil, `\\x%x`, end.hash)
}

// sealAccount encrypts the account number for its new row.
func (c *portfolioCopier) sealAccount(table *bookTable, b *bookCopy, values [][]byte) {
	sealed, err := modeltest.SealAccount(modeltest.Keys(), b.partner, uuid.MustParse(string(*table.columnValue(values, "id"))), modeltest.PolicyIBANMethod("").Number)
	require.NoError(c.t, err)
	*table.columnValue(values, "sealed") = fmt.Appendf(nil, `\\x%x`, sealed)
}

// copyDeliveries creates an endpoint for acme with deliveries of all events of the last
// weeks.
func (c *portfolioCopier) copyDeliveries() {
	c.t.Helper()
	url := "https://hooks.example.com/parapet"
	endpoint, err := c.book.Service.Webhooks.CreateEndpoint(c.t.Context(), c.book.Acme, webhooks.EndpointRequest{URL: &url})
	require.NoError(c.t, err)
	c.book.Relay()
	c.execSQL(`insert into deliveries (id, partner, created_at, updated_at, endpoint_id, event_id, sequence, subject_id, status, attempts_in_round, attempts)
		select overlay(e.id::text placing '7de' from 15 for 3)::uuid, e.partner, e.occurred_at, e.occurred_at, w.id, e.id, n.sequence, e.subject_id, 'delivered', 1,
			'[{"at": "2026-01-01T00:00:00.000000Z", "status_code": 200, "error": null, "duration_ms": 38, "answer": "ok"}]'
		from webhook_endpoints w cross join lateral (select * from event_sequence n where n.partner = w.partner order by sequence desc limit 1000000) n
			join events e on e.id = n.event_id and e.partner = n.partner where w.partner = 'acme'`)
	c.execSQL(`update webhook_progress p set cursor = (select max(sequence) from event_sequence n where n.partner = p.partner), due_at = null`)
	require.NotEmpty(c.t, endpoint.ID)
}
