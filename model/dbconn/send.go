package dbconn

import (
	"cmp"
	"context"
	"errors"
	"io"

	"github.com/jackc/pgx/v5"
)

// Copy is a COPY that Send runs after a number of statements.
type Copy struct {
	After     int // statements
	Statement string
	Rows      io.Reader // in the text format of COPY
}

// Send sends statements, prepared, in one round trip. Each copy is a round trip of its own
// and divides the statements; copies are ordered by After. After an error nothing further
// is sent.
func Send(ctx context.Context, conn *pgx.Conn, statements []*pgx.QueuedQuery, copies []Copy) error {
	sent := 0
	for _, rows := range copies {
		if err := send(ctx, conn, statements[sent:rows.After]); err != nil {
			return err
		}
		sent = rows.After
		read := &errorReader{Reader: rows.Rows}
		if _, err := conn.PgConn().CopyFrom(ctx, read, rows.Statement); err != nil {
			return cmp.Or(read.err, err)
		}
	}
	return send(ctx, conn, statements[sent:])
}

// errorReader keeps the error of a reader: Postgres only says that the client ended the
// COPY.
type errorReader struct {
	io.Reader

	err error
}

func (r *errorReader) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		r.err = err
	}
	return n, err
}

func send(ctx context.Context, conn *pgx.Conn, statements []*pgx.QueuedQuery) error {
	if len(statements) == 0 {
		return nil
	}
	for _, statement := range statements {
		if _, err := conn.Prepare(ctx, statement.SQL, statement.SQL); err != nil {
			return err
		}
	}
	return conn.SendBatch(ctx, &pgx.Batch{QueuedQueries: statements}).Close()
}
