package main

import (
	"context"

	"github.com/jackc/pgx/v5/pgxpool"

	"parapet/model/dbconn"
	"parapet/model/kernel/store"
)

// openDatabase opens both pools, and the monitor that closes connections to a lost
// server.
func (a *app) openDatabase(ctx context.Context) (err error) {
	if a.monitor, err = dbconn.NewMonitor(ctx, a.settings.DatabaseURL); err != nil {
		return err
	}
	if a.db, err = store.Open(ctx, a.settings.DatabaseURL, a.settings.Connections, a.monitor.Track); err != nil {
		return err
	}
	a.riverPool, err = openRiverPool(ctx, a.settings.DatabaseURL, a.monitor.Track)
	return err
}

// riverConnections are for fetching jobs, LISTEN and completing jobs; workers use the
// domain's pool.
const riverConnections = 8

func openRiverPool(ctx context.Context, url string, options ...dbconn.Option) (*pgxpool.Pool, error) {
	config, err := dbconn.Config(url, options...)
	if err != nil {
		return nil, err
	}
	config.MaxConns = riverConnections
	return pgxpool.NewWithConfig(ctx, config)
}
