package main

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5/pgxpool"

	"parapet/model/dbconn"
	"parapet/model/kernel/dbpool"
	"parapet/model/kernel/replica"
)

// openDatabase opens both pools, and the monitor that closes connections to a lost
// server.
func (a *app) openDatabase(ctx context.Context) (err error) {
	if a.monitor, err = dbconn.NewMonitor(ctx, a.settings.DatabaseURL); err != nil {
		return err
	}
	if a.db, err = dbpool.Open(ctx, a.settings.DatabaseURL, a.settings.Connections, a.monitor.Track); err != nil {
		return err
	}
	if a.riverPool, err = openPool(ctx, a.settings.DatabaseURL, riverConnections, a.monitor.Track); err != nil {
		return err
	}
	return a.openReplicas(ctx)
}

// riverConnections are for fetching jobs, LISTEN and completing jobs; workers use the
// domain's pool.
const riverConnections = 8

func openPool(ctx context.Context, url string, size int32, options ...dbconn.Option) (*pgxpool.Pool, error) {
	config, err := dbconn.Config(url, options...)
	if err != nil {
		return nil, err
	}
	config.MaxConns = size
	return pgxpool.NewWithConfig(ctx, config)
}

// openReplicas opens the pools of the replicas; it does not connect yet.
func (a *app) openReplicas(ctx context.Context) error {
	if len(a.settings.ReplicaURLs) == 0 {
		return nil
	}
	probes, err := openPool(ctx, a.settings.DatabaseURL, 1, a.monitor.Track)
	if err != nil {
		return err
	}
	a.db.Replicas = replica.New(probes)
	for i, url := range a.settings.ReplicaURLs {
		db, err := dbpool.Open(ctx, url, a.settings.ReplicaConnections, replica.Connect)
		if err != nil {
			return fmt.Errorf("PARAPET_REPLICA_URLS: %w", err)
		}
		probes, err := openPool(ctx, url, 1, replica.Observe)
		if err != nil {
			return fmt.Errorf("PARAPET_REPLICA_URLS: %w", err)
		}
		if err := a.db.Replicas.Add(replicaName(i, db.Pool), replica.Source{Pool: db.Pool, DB: db.Bun}, probes); err != nil {
			return fmt.Errorf("PARAPET_REPLICA_URLS: %w", err)
		}
	}
	return nil
}

// replicaName names a replica in metrics: its place in the setting and its host, without
// user and password.
func replicaName(place int, pool *pgxpool.Pool) string {
	c := pool.Config().ConnConfig
	return fmt.Sprintf("%d %s:%d", place+1, c.Host, c.Port)
}
