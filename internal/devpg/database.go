package devpg

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// CreateDatabase creates an empty database; an existing one is kept.
func (s *Server) CreateDatabase(ctx context.Context, name string) error {
	return CreateDatabase(ctx, s.URL(superuser), name)
}

// CloneDatabase creates a copy of the template.
func (s *Server) CloneDatabase(ctx context.Context, name, template string) error {
	return CloneDatabase(ctx, s.URL(superuser), name, template)
}

// duplicateDatabase is the SQLSTATE of a database that exists already.
const duplicateDatabase = "42P04"

// CreateDatabase creates an empty database on the server of the address. A database that
// exists, even one just created by another process, is kept.
func CreateDatabase(ctx context.Context, address, name string) error {
	err := executeStatement(ctx, address, "CREATE DATABASE "+quoteIdentifier(name))
	if pg := new(pgconn.PgError); errors.As(err, &pg) && pg.Code == duplicateDatabase {
		return nil
	}
	return err
}

// CloneDatabase creates a copy of the template on the server of the address, in about 20
// ms with fsync off. It copies the files instead of writing them through the WAL, which
// is twice as fast there. The template must have no connections.
func CloneDatabase(ctx context.Context, address, name, template string) error {
	conn, err := pgx.Connect(ctx, address)
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	statement := fmt.Sprintf("CREATE DATABASE %s TEMPLATE %s", quoteIdentifier(name), quoteIdentifier(template))
	major, _, _ := strings.Cut(conn.PgConn().ParameterStatus("server_version"), ".")
	if version, err := strconv.Atoi(major); err == nil && version >= 15 {
		statement += " STRATEGY file_copy" // before version 15 it is the only strategy, without a name
	}
	_, err = conn.Exec(ctx, statement)
	return err
}

// SealTemplate disallows connections to a database and marks it as a template: cloning
// fails while the source has connections.
func SealTemplate(ctx context.Context, address, name string) error {
	return executeStatement(ctx, address, "ALTER DATABASE "+quoteIdentifier(name)+" WITH IS_TEMPLATE true ALLOW_CONNECTIONS false")
}

// DropDatabase removes a database that is not a template, with its connections.
func DropDatabase(ctx context.Context, address, name string) error {
	return executeStatement(ctx, address, "DROP DATABASE IF EXISTS "+quoteIdentifier(name)+" WITH (FORCE)")
}

// WithDatabase returns the address of another database on the same server.
func WithDatabase(address, name string) (string, error) {
	parsed, err := url.Parse(address)
	if err != nil {
		return "", errors.New("the database address is not a URL") // the address may contain a password
	}
	parsed.Path = "/" + name
	return parsed.String(), nil
}

func executeStatement(ctx context.Context, address, statement string) error {
	conn, err := pgx.Connect(ctx, address)
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	_, err = conn.Exec(ctx, statement)
	return err
}

func quoteIdentifier(name string) string { return pgx.Identifier{name}.Sanitize() }
