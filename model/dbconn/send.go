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
	// ColumnsQuery is a query of the columns that are copied. It is only described.
	ColumnsQuery string
	// Rows returns the rows in a format of COPY, given the OIDs of the columns' types.
	Rows func(types []uint32) io.Reader
}

// Send sends statements, prepared, in one round trip. Each copy takes two of its own
// and divides the statements; copies are ordered by After. After an error nothing further
// is sent.
func Send(ctx context.Context, conn *pgx.Conn, statements []*pgx.QueuedQuery, copies []Copy) error {
	sent := 0
	for _, rows := range copies {
		if err := send(ctx, conn, statements[sent:rows.After]); err != nil {
			return err
		}
		sent = rows.After
		if err := sendCopy(ctx, conn, rows); err != nil {
			return err
		}
	}
	return send(ctx, conn, statements[sent:])
}

// sendCopy describes the columns first, in the transaction: it locks the table, so that no
// migration changes a column before its rows are copied.
func sendCopy(ctx context.Context, conn *pgx.Conn, rows Copy) error {
	described, err := conn.Prepare(ctx, "", rows.ColumnsQuery)
	if err != nil {
		return err
	}
	types := make([]uint32, len(described.Fields))
	for i, column := range described.Fields {
		types[i] = column.DataTypeOID
	}
	read := &errorReader{Reader: rows.Rows(types)}
	_, err = conn.PgConn().CopyFrom(ctx, read, rows.Statement)
	return cmp.Or(read.err, err)
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
			return unsentError{err}
		}
	}
	if err := ctx.Err(); err != nil {
		return unsentError{err}
	}
	return conn.SendBatch(ctx, &pgx.Batch{QueuedQueries: statements}).Close()
}
