// Package dbpool opens the connection pool of the database: pgx for prepared statements, jobs
// and migrations, bun for the domain. A Database is safe for concurrent use. Start reading
// at Open.
package dbpool

import (
	"bytes"
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"
	"github.com/uptrace/bun/extra/bunjson"

	"parapet/model/dbconn"
	"parapet/model/kernel/replica"
	"parapet/model/wire"
)

// Database is a connection pool with two interfaces: pgx for jobs and migrations, bun for
// the domain.
type Database struct {
	Pool     *pgxpool.Pool
	Bun      *bun.DB
	Replicas *replica.Set // answer reads that allow it; nil: none
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
		dbconn.RegisterTypes(conn.TypeMap())
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
	d.Replicas.Close()
	_ = d.Bun.Close()
	d.Pool.Close()
}
