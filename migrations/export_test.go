package migrations

import (
	"context"
	"testing/fstest"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"
	"github.com/uptrace/bun/migrate"
)

// ApplyUpTo applies our migrations up to a number of four digits, as an older release would.
func ApplyUpTo(ctx context.Context, pool *pgxpool.Pool, last string) error {
	if err := applyRiver(ctx, pool); err != nil {
		return err
	}
	files := fstest.MapFS{}
	all, err := migrationFiles.ReadDir(".")
	if err != nil {
		return err
	}
	for _, file := range all {
		if file.Name()[:len(last)] > last {
			continue
		}
		text, err := migrationFiles.ReadFile(file.Name())
		if err != nil {
			return err
		}
		files[file.Name()] = &fstest.MapFile{Data: text}
	}
	found := migrate.NewMigrations()
	if err := found.Discover(files); err != nil {
		return err
	}
	db := bun.NewDB(stdlib.OpenDBFromPool(pool), pgdialect.New())
	defer func() { _ = db.Close() }()
	_, err = applyOwn(ctx, migrate.NewMigrator(db, found, migrate.WithMarkAppliedOnSuccess(true)))
	return err
}
