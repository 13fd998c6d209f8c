//go:build unix

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"
	"go.jetify.com/typeid"
)

// baselineServer is the baseline of the comparison: minimal code that reads and writes
// the same rows and returns the same bytes, with one prepared statement for each request,
// which is its own transaction. It compares the token with a constant, validates nothing, prices
// nothing, and copies rows that the service wrote before.
type baselineServer struct {
	db       *pgxpool.Pool
	partners map[string]string // by the Authorization header

	quote, policy, created, bound, activated sampleRow
	createSQL, bindSQL                       string
}

func newBaselineServer(b testing.TB, database, token string, quote, policy []byte) *baselineServer {
	b.Helper()
	config, err := pgxpool.ParseConfig(database)
	require.NoError(b, err)
	config.MaxConns = 20
	config.AfterConnect = func(_ context.Context, conn *pgx.Conn) error {
		conn.TypeMap().RegisterType(&pgtype.Type{Name: "json", OID: pgtype.JSONOID, Codec: pgtype.TextCodec{}})
		conn.TypeMap().RegisterType(&pgtype.Type{Name: "timestamptz", OID: pgtype.TimestamptzOID, Codec: &pgtype.TimestamptzCodec{ScanLocation: time.UTC}})
		return nil
	}
	db, err := pgxpool.NewWithConfig(b.Context(), config)
	require.NoError(b, err)
	b.Cleanup(db.Close)
	s := &baselineServer{
		db: db, partners: map[string]string{"Bearer " + token: "acme"},
		quote:     readSampleRow(b, db, "quotes", "true", quote).withValues("status", "priced", "policy_id", nil, "version", 1),
		policy:    readSampleRow(b, db, "policies", "true", policy),
		created:   readSampleRow(b, db, "events", "type = 'quote.created'", nil),
		bound:     readSampleRow(b, db, "events", "type = 'quote.bound'", nil),
		activated: readSampleRow(b, db, "events", "type = 'policy.activated'", nil),
	}
	s.writeStatements()
	return s
}

// writeStatements writes the statements of createQuote and bindPolicy.
func (s *baselineServer) writeStatements() {
	const one = "(select) as one"
	quote := len(s.quote.args)
	s.createSQL = fmt.Sprintf("with quote as (%s), event as (%s) insert into event_outbox (partner, event_id) values (%s, %s)",
		s.quote.insertAs(0, one), s.created.insertAs(quote, one), s.created.argument(quote, "partner"), s.created.argument(quote, "id"))
	const quoteArgs, quoted = 4, "quote" // the policy's id, the quote's id and partner, and the sample's event
	bound := quoteArgs + len(s.policy.args)
	activated := bound + len(s.bound.args)
	s.bindSQL = fmt.Sprintf(`with quote as (update quotes set status = 'bound', policy_id = $1, version = version + 1, updated_at = now()
			where id = $2 and partner = $3 and version = 1 returning 1),
		policy as (%s), bound as (%s), activated as (%s),
		posted as (insert into ledger_entries (event_id, partner, account, policy_id, currency, amount, at)
			select %[5]s, partner, account, $1, currency, amount, now() from ledger_entries, quote where event_id = $4)
		insert into event_outbox (partner, event_id) select $3, id from quote, unnest(array[%[4]s, %[5]s]) as id`,
		s.policy.insertAs(quoteArgs, quoted), s.bound.insertAs(bound, quoted), s.activated.insertAs(activated, quoted),
		s.bound.argument(bound, "id"), s.activated.argument(activated, "id"))
}

// listenAndServe listens on loopback until the benchmark ends.
func (s *baselineServer) listenAndServe(b testing.TB) (address string) {
	b.Helper()
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/quotes", s.authenticate(s.createQuote))
	mux.HandleFunc("POST /v1/policies", s.authenticate(s.bindPolicy))
	mux.HandleFunc("GET /v1/policies/{id}", s.authenticate(s.getPolicy))
	mux.HandleFunc("GET /v1/claims/{id}/timeline", s.authenticate(s.getTimeline))
	listener, err := new(net.ListenConfig).Listen(b.Context(), "tcp", "127.0.0.1:0")
	require.NoError(b, err)
	server := &http.Server{Handler: mux, ReadHeaderTimeout: time.Minute}
	go func() { _ = server.Serve(listener) }()
	b.Cleanup(func() { _ = server.Close() })
	return listener.Addr().String()
}

// authenticate finds the partner of the token.
func (s *baselineServer) authenticate(do func(r *http.Request, partner string) (int, []byte, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		partner, ok := s.partners[r.Header.Get("Authorization")]
		if !ok {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		status, body, err := do(r, partner)
		if err != nil {
			status, body = http.StatusInternalServerError, []byte(err.Error())
		}
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Content-Length", strconv.Itoa(len(body)))
		w.WriteHeader(status)
		_, _ = w.Write(body)
	}
}

func (s *baselineServer) createQuote(r *http.Request, _ string) (int, []byte, error) {
	var in struct {
		Product string          `json:"product"`
		Context json.RawMessage `json:"context"`
	}
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
		return 0, nil, err
	}
	id := uuid.Must(uuid.NewV7())
	renamed := s.quote.replaceID(id)
	quote := s.quote.withValues("id", id, "product", in.Product) // the context is stored with its defaults
	_, err := s.db.Exec(r.Context(), s.createSQL, append(quote.args, s.created.withSubject(id, renamed).args...)...)
	return http.StatusCreated, renamed(s.quote.record), err
}

func (s *baselineServer) bindPolicy(r *http.Request, partner string) (int, []byte, error) {
	var in struct {
		QuoteID string `json:"quote_id"`
	}
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
		return 0, nil, err
	}
	quoteID, err := typeid.FromString(in.QuoteID)
	if err != nil {
		return 0, nil, err
	}
	quote, id := uuid.UUID(quoteID.UUIDBytes()), uuid.Must(uuid.NewV7())
	quoteRenamed, policyRenamed := s.quote.replaceID(quote), s.policy.replaceID(id)
	renamed := func(text []byte) []byte { return policyRenamed(quoteRenamed(text)) }
	policy := s.policy.withValues("id", id, "quote_id", quote)
	args := slices.Concat([]any{id, quote, partner, s.activated.columnValue("id")}, policy.args,
		s.bound.withSubject(quote, renamed).args, s.activated.withSubject(id, renamed).args)
	written, err := s.db.Exec(r.Context(), s.bindSQL, args...)
	if err == nil && written.RowsAffected() != 2 {
		err = errors.New("the quote cannot be bound")
	}
	return http.StatusCreated, renamed(s.policy.record), err
}

// policyResponse is the response with a policy; columns that are stored as JSON are
// copied unchanged.
type policyResponse struct {
	publicFields
	Status         string          `json:"status"`
	CoverPhase     string          `json:"cover_phase"`
	QuoteID        string          `json:"quote_id"`
	Product        string          `json:"product"`
	ProductVersion int             `json:"product_version"`
	Policyholder   json.RawMessage `json:"policyholder"`
	Cover          json.RawMessage `json:"cover"`
	TermsHash      string          `json:"terms_hash"`
	Premium        moneyJSON       `json:"premium"`
	Limit          moneyJSON       `json:"limit"`
	LimitRemaining moneyJSON       `json:"limit_remaining"`
	EffectiveAt    microTime       `json:"effective_at"`
	ExpiresAt      microTime       `json:"expires_at"`
	Claims         []claimJSON     `json:"claims"`
	ClaimsCount    int64           `json:"claims_count"`
	CancelledAt    *time.Time      `json:"cancelled_at"`
}

type publicFields struct {
	recordHeader
	PartnerReference *string         `json:"partner_reference"`
	Metadata         json.RawMessage `json:"metadata"`
}

type recordHeader struct {
	ID        string    `json:"id"`
	Object    string    `json:"object"`
	Partner   string    `json:"partner"`
	CreatedAt microTime `json:"created_at"`
	UpdatedAt microTime `json:"updated_at"`
	Version   int64     `json:"version"`
}

// microTime formats a time with six digits of microseconds.
type microTime struct{ time.Time }

func (s microTime) MarshalJSON() ([]byte, error) {
	return s.AppendFormat(nil, `"2006-01-02T15:04:05.000000Z"`), nil
}

type moneyJSON struct {
	Amount   int64  `json:"amount"`
	Currency string `json:"currency"`
}

type claimJSON struct {
	ID     string `json:"id"`
	Status string `json:"status"`
}

func (s *baselineServer) getPolicy(r *http.Request, partner string) (int, []byte, error) {
	key, err := typeid.FromString(r.PathValue("id"))
	if err != nil {
		return 0, nil, err
	}
	p := policyResponse{publicFields: publicFields{recordHeader: recordHeader{ID: r.PathValue("id"), Object: "policy"}}, CoverPhase: "in_force", Claims: []claimJSON{}}
	var quote uuid.UUID
	var currency string
	var claims []uuid.UUID
	var statuses []string
	var metadata, holder, cover string
	err = s.db.QueryRow(r.Context(), `select p.partner, p.created_at, p.updated_at, p.version, p.partner_reference, coalesce(nullif(p.metadata::text, 'null'), '{}'), p.status, p.quote_id, p.product, p.product_version,
			coalesce(p.policyholder::text, 'null'), p.cover::text, p.terms_hash, p.currency, p.premium_amount, p.limit_amount, p.limit_remaining, p.effective_at, p.expires_at, p.cancelled_at, c.ids, c.statuses, c.number
		from policies p cross join lateral (
			select array_agg(id order by policy_sequence) as ids, array_agg(status order by policy_sequence) as statuses, coalesce(max(policy_sequence), 0) as number
			from (select id, status, policy_sequence from claims where policy_id = p.id and partner = p.partner order by policy_sequence desc limit 20) newest) c
		where p.id = $1 and p.partner = $2`, uuid.UUID(key.UUIDBytes()), partner).
		Scan(&p.Partner, &p.CreatedAt.Time, &p.UpdatedAt.Time, &p.Version, &p.PartnerReference, &metadata, &p.Status, &quote, &p.Product, &p.ProductVersion,
			&holder, &cover, &p.TermsHash, &currency, &p.Premium.Amount, &p.Limit.Amount, &p.LimitRemaining.Amount, &p.EffectiveAt.Time, &p.ExpiresAt.Time, &p.CancelledAt, &claims, &statuses, &p.ClaimsCount)
	if err != nil {
		return 0, nil, err
	}
	p.QuoteID, p.Cover, p.Metadata, p.Policyholder = publicID("quo", quote), json.RawMessage(cover), json.RawMessage(metadata), json.RawMessage(holder)
	p.Premium.Currency, p.Limit.Currency, p.LimitRemaining.Currency = currency, currency, currency
	for i, claim := range claims {
		p.Claims = append(p.Claims, claimJSON{publicID("clm", claim), statuses[i]})
	}
	return encodeRecord(p)
}

type entryResponse struct {
	recordHeader
	ClaimID  string          `json:"claim_id"`
	Sequence int64           `json:"sequence"`
	Kind     string          `json:"kind"`
	At       microTime       `json:"at"`
	Actor    actorJSON       `json:"actor"`
	Summary  string          `json:"summary"`
	Data     json.RawMessage `json:"data"`
	EventID  *string         `json:"event_id"`
}

type actorJSON struct {
	Kind string `json:"kind"`
	Name string `json:"name"`
}

func (s *baselineServer) getTimeline(r *http.Request, partner string) (int, []byte, error) {
	key, err := typeid.FromString(r.PathValue("id"))
	if err != nil {
		return 0, nil, err
	}
	rows, err := s.db.Query(r.Context(), `select id, partner, sequence, kind, at, actor_kind, actor_name, summary, data, event_id
		from timeline_entries where claim_id = $1 and partner = $2 order by sequence limit 21`, uuid.UUID(key.UUIDBytes()), partner)
	if err != nil {
		return 0, nil, err
	}
	entries, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (entryResponse, error) {
		e := entryResponse{recordHeader: recordHeader{Object: "timeline_entry", Version: 1}, ClaimID: r.PathValue("id")}
		var id uuid.UUID
		var event *uuid.UUID
		var data string
		err := row.Scan(&id, &e.Partner, &e.Sequence, &e.Kind, &e.At.Time, &e.Actor.Kind, &e.Actor.Name, &e.Summary, &data, &event)
		e.ID, e.CreatedAt, e.UpdatedAt, e.Data = publicID("tle", id), e.At, e.At, json.RawMessage(data)
		if event != nil {
			text := publicID("evt", *event)
			e.EventID = &text
		}
		return e, err
	})
	if err != nil {
		return 0, nil, err
	}
	return encodeRecord(struct {
		Object     string          `json:"object"`
		Data       []entryResponse `json:"data"`
		HasMore    bool            `json:"has_more"`
		NextCursor *string         `json:"next_cursor"`
	}{"list", entries, false, nil})
}

func encodeRecord(record any) (int, []byte, error) {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(record)
	return http.StatusOK, bytes.TrimSuffix(out.Bytes(), []byte("\n")), err
}

func publicID(prefix string, id uuid.UUID) string {
	text, err := typeid.FromUUIDBytesWithPrefix(prefix, id[:])
	if err != nil {
		panic(err)
	}
	return text.String()
}
