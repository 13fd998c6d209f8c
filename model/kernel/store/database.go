package store

import (
	"bytes"
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"
	"github.com/uptrace/bun/extra/bunjson"

	"parapet/model/dbconn"
	"parapet/model/wire"
)

// Database is a connection pool with two interfaces: pgx for jobs and migrations, bun for
// the domain.
type Database struct {
	Pool *pgxpool.Pool
	Bun  *bun.DB
}

// Open prepares a pool of at most size connections; it does not connect yet. Bun writes
// arguments into the SQL, so every statement text is different and pgx must not prepare
// it: exec mode halves the cost of a read.
func Open(ctx context.Context, url string, size int32, options ...dbconn.Option) (*Database, error) {
	config, err := dbconn.Config(url, options...)
	if err != nil {
		return nil, err
	}
	config.MaxConns = size
	config.MaxConnIdleTime = 5 * time.Minute
	config.ConnConfig.DefaultQueryExecMode = pgx.QueryExecModeExec
	prepare := config.AfterConnect
	config.AfterConnect = func(ctx context.Context, conn *pgx.Conn) error {
		registerTypes(conn.TypeMap())
		return prepare(ctx, conn)
	}
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, fmt.Errorf("database pool: %w", err)
	}
	db := stdlib.OpenDBFromPool(pool)
	return &Database{Pool: pool, Bun: bun.NewDB(db, pgdialect.New())}, nil
}

// columnJSON reads JSON columns with the decoder of responses and events. Bun's own,
// encoding/json, took a quarter of the time of a bind.
type columnJSON struct{ bunjson.StdProvider }

// Marshal writes a backslash as \u005c. Bun looks for the six characters \u0000 when it
// writes JSON into a statement, and would corrupt a backslash followed by u0000.
func (c columnJSON) Marshal(value any) ([]byte, error) {
	text, err := c.StdProvider.Marshal(value)
	return bytes.ReplaceAll(text, []byte(`\\`), []byte(`\u005c`)), err
}

// Unmarshal calls wire.Decode.
func (columnJSON) Unmarshal(data []byte, into any) error { return wire.Decode(data, into) }

func init() { bunjson.SetProvider(columnJSON{}) }

// Close ends all connections. Closing bun alone would leave the pool open.
func (d *Database) Close() {
	_ = d.Bun.Close()
	d.Pool.Close()
}

// registerTypes registers how a connection encodes rows: times in UTC, ids as bytes,
// JSON by the encoder of responses and events (the driver's encoder took a quarter of a
// bind's time), boxes as text, because only Postgres interprets them.
func registerTypes(types *pgtype.Map) {
	id := &pgtype.Type{Name: "uuid", OID: pgtype.UUIDOID, Codec: uuidCodec{}}
	for _, each := range []*pgtype.Type{
		{Name: "timestamptz", OID: pgtype.TimestamptzOID, Codec: &pgtype.TimestamptzCodec{ScanLocation: time.UTC}},
		id,
		{Name: "_uuid", OID: pgtype.UUIDArrayOID, Codec: &pgtype.ArrayCodec{ElementType: id}},
		{Name: "json", OID: pgtype.JSONOID, Codec: jsonCodec(types)},
		{Name: "box", OID: pgtype.BoxOID, Codec: boxCodec{}},
	} {
		types.RegisterType(each)
	}
}

// jsonCodec returns the driver's codec with the encoder of responses and events.
func jsonCodec(types *pgtype.Map) pgtype.Codec {
	known, _ := types.TypeForOID(pgtype.JSONOID)
	codec := *known.Codec.(*pgtype.JSONCodec) //nolint:forcetypeassert // the driver's own
	codec.Marshal, codec.Unmarshal = wire.Encode, wire.Decode
	return &codec
}

// uuidCodec copies the sixteen bytes. The driver's codec would format an id as text and
// parse it again, twice per statement.
type uuidCodec struct{ pgtype.UUIDCodec }

// PlanEncode implements pgtype.Codec.
func (c uuidCodec) PlanEncode(types *pgtype.Map, oid uint32, format int16, value any) pgtype.EncodePlan {
	switch value.(type) {
	case uuid.UUID, *uuid.UUID: // a nil pointer does not reach this codec
		if format == pgtype.BinaryFormatCode {
			return uuidPlan{}
		}
	}
	return c.UUIDCodec.PlanEncode(types, oid, format, value)
}

// PlanScan implements pgtype.Codec.
func (c uuidCodec) PlanScan(types *pgtype.Map, oid uint32, format int16, target any) pgtype.ScanPlan {
	if _, ours := target.(*uuid.UUID); ours && format == pgtype.BinaryFormatCode {
		return uuidPlan{}
	}
	return c.UUIDCodec.PlanScan(types, oid, format, target)
}

type uuidPlan struct{}

// Encode implements pgtype.EncodePlan.
func (uuidPlan) Encode(value any, out []byte) ([]byte, error) {
	id, plain := value.(uuid.UUID)
	if !plain {
		id = *value.(*uuid.UUID) //nolint:forcetypeassert // planned for no other
	}
	return append(out, id[:]...), nil
}

// Scan implements pgtype.ScanPlan.
func (uuidPlan) Scan(in []byte, target any) (err error) {
	id, _ := target.(*uuid.UUID)
	*id, err = uuid.FromBytes(in)
	return err
}

type boxCodec struct{ pgtype.BoxCodec }

// PreferredFormat implements pgtype.Codec.
func (boxCodec) PreferredFormat() int16 { return pgtype.TextFormatCode }
