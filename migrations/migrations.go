// Package migrations brings a database to the schema this release needs: ours
// through bun, River's through its own migrator, both under one advisory lock,
// so that any number of processes may start at once.
package migrations

import (
	"context"
	"embed"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"
	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"
	"github.com/uptrace/bun/migrate"
)

//go:embed *.sql
var migrationFiles embed.FS

// RiverSchema is where River keeps its tables, apart from ours.
const RiverSchema = "river"

// advisoryLockKey is a constant of our own: "parapet" in hexadecimal.
const advisoryLockKey int64 = 0x70617261706574

// Apply migrates and returns the names of the migrations it applied. It waits
// while another process applies them. Migrations only go forward. Errors:
// BinaryTooOldError, ErrUnreleased, ErrNotOwner.
func Apply(ctx context.Context, pool *pgxpool.Pool) ([]string, error) {
	names, err := apply(ctx, pool)
	if hasCode(err, insufficientPrivilege) {
		return nil, ErrNotOwner
	}
	return names, err
}

func apply(ctx context.Context, pool *pgxpool.Pool) ([]string, error) {
	// A connection of its own: callers that wait must not keep the pool from the
	// one that works.
	lock, err := pgx.ConnectConfig(ctx, pool.Config().ConnConfig)
	if err != nil {
		return nil, fmt.Errorf("connect: %w", err)
	}
	defer func() { _ = lock.Close(context.WithoutCancel(ctx)) }()
	if _, err := lock.Exec(ctx, "select pg_advisory_lock($1)", advisoryLockKey); err != nil {
		return nil, fmt.Errorf("lock migrations: %w", err)
	}

	migrator, closeDB, err := newMigrator(ctx, lock, pool)
	if err != nil {
		return nil, err
	}
	defer closeDB()
	if err := applyRiver(ctx, pool); err != nil {
		return nil, fmt.Errorf("river migrations: %w", err)
	}
	if Check(ctx, pool) == nil {
		return nil, saveTransitions(ctx, lock)
	}
	names, err := applyOwn(ctx, migrator)
	if err != nil {
		return nil, err
	}
	return names, saveTransitions(ctx, lock)
}

// Newest returns the name of the newest migration of this release.
func Newest() (string, error) {
	found := migrate.NewMigrations()
	if err := found.Discover(migrationFiles); err != nil {
		return "", fmt.Errorf("read migrations: %w", err)
	}
	known := found.Sorted()
	last := known[len(known)-1]
	return last.Name + "_" + last.Comment, nil
}

func applyRiver(ctx context.Context, pool *pgxpool.Pool) error {
	// A role that owns nothing may find everything applied, but may create nothing.
	var created bool
	if err := pool.QueryRow(ctx, "select to_regnamespace($1) is not null", RiverSchema).Scan(&created); err != nil {
		return err
	}
	if !created {
		if _, err := pool.Exec(ctx, "create schema "+pgx.Identifier{RiverSchema}.Sanitize()); err != nil {
			return err
		}
	}
	migrator, err := rivermigrate.New(riverpgxv5.New(pool), &rivermigrate.Config{Schema: RiverSchema})
	if err != nil {
		return err
	}
	_, err = migrator.Migrate(ctx, rivermigrate.DirectionUp, nil)
	return err
}

func applyOwn(ctx context.Context, migrator *migrate.Migrator) ([]string, error) {
	if err := migrator.Init(ctx); err != nil {
		return nil, fmt.Errorf("prepare migration table: %w", err)
	}
	group, err := migrator.Migrate(ctx)
	if err != nil {
		return nil, fmt.Errorf("migrate: %w", err)
	}
	names := make([]string, 0, len(group.Migrations))
	for i := range group.Migrations {
		names = append(names, group.Migrations[i].String())
	}
	return names, nil
}

// ErrNotOwner means that the role of the connections cannot migrate the database.
var ErrNotOwner = errors.New("the role of this address may not migrate the database: run parapet migrate as the owner of the tables")

// ErrPending says that the database is behind this release.
var ErrPending = errors.New("the database has unapplied migrations; run: parapet migrate")

// Check returns nil if this release can use the database: every migration of ours is
// applied, and perhaps compatible ones of the next release. Errors: ErrPending,
// BinaryTooOldError, ErrUnreleased.
func Check(ctx context.Context, pool *pgxpool.Pool) error {
	migrator, closeDB, err := newMigrator(ctx, pool, pool)
	if err != nil {
		return err
	}
	defer closeDB()
	status, err := migrator.MigrationsWithStatus(ctx)
	if hasCode(err, undefinedTable) || err == nil && len(status.Unapplied()) > 0 {
		return ErrPending
	}
	if err != nil {
		return fmt.Errorf("read migrations: %w", err)
	}
	return nil
}

// newMigrator returns the migrator of a database that this release can use.
func newMigrator(ctx context.Context, db querier, pool *pgxpool.Pool) (*migrate.Migrator, func(), error) {
	found := migrate.NewMigrations()
	if err := found.Discover(migrationFiles); err != nil {
		return nil, nil, fmt.Errorf("read migrations: %w", err)
	}
	if err := requireCompatible(ctx, db, found.Sorted()); err != nil {
		return nil, nil, err
	}
	bunDB := bun.NewDB(stdlib.OpenDBFromPool(pool), pgdialect.New())
	migrator := migrate.NewMigrator(bunDB, found, migrate.WithMarkAppliedOnSuccess(true))
	return migrator, func() { _ = bunDB.Close() }, nil
}
