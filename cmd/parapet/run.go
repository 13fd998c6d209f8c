package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"parapet/rest"
)

// drainTimeout is how long requests and jobs may take to end after the signal.
const drainTimeout = 25 * time.Second

// maxDrainDelay leaves requests time to end within drainTimeout.
const maxDrainDelay = 20 * time.Second

// errDraining is why a server that ends is not ready.
var errDraining = errors.New("the server is ending")

// checkDraining returns errDraining after the signal to end.
func (a *app) checkDraining() error {
	if a.draining.Load() {
		return errDraining
	}
	return nil
}

// closeConnections ends each connection after its next response once the server drains,
// so that clients and load balancers open new ones elsewhere. A connection that the
// server closes while it is idle may have a request on its way.
func (a *app) closeConnections(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if a.draining.Load() {
			w.Header().Set("Connection", "close")
		}
		next.ServeHTTP(w, r)
	})
}

// serveAndWork serves on the listeners (metrics may be nil) and works jobs until ctx
// ends. Then it takes no new jobs and reports that it is not ready, still accepts
// requests for the drain delay, and finishes the running jobs and requests.
func (a *app) serveAndWork(ctx context.Context, listener, metrics net.Listener) error {
	group, running := errgroup.WithContext(ctx)
	serving, end := context.WithCancel(context.WithoutCancel(ctx))
	group.Go(func() error {
		defer end()
		<-running.Done()
		a.draining.Store(true)
		if ctx.Err() != nil && slices.Contains(a.settings.Roles, "api") { // otherwise a part of the server has failed
			a.log.InfoContext(ctx, "draining", "delay", a.settings.DrainDelay)
			<-time.After(a.settings.DrainDelay)
		}
		return nil
	})
	if a.db.Replicas != nil {
		group.Go(func() error {
			a.db.Replicas.Run(serving)
			return nil
		})
	}
	if slices.Contains(a.settings.Roles, "api") {
		if a.jobAdmin != nil {
			if err := a.jobAdmin.Start(running); err != nil {
				end()
				return fmt.Errorf("job console: %w", err)
			}
		}
		group.Go(func() error { return a.saveRefusals(serving) })
		group.Go(func() error { return a.saveCalls(serving) })
		group.Go(func() error { return a.serveAPI(serving, listener) })
	}
	if metrics != nil {
		mux := http.NewServeMux()
		mux.Handle("GET /metrics", a.metrics.httpHandler())
		group.Go(func() error {
			return serveUntil(serving, &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}, metrics, drainTimeout-a.settings.DrainDelay)
		})
	}
	if slices.Contains(a.settings.Roles, "workers") {
		group.Go(func() error { return a.runWorkers(running) })
	}
	return group.Wait()
}

// serveAPI serves requests until ctx ends.
func (a *app) serveAPI(ctx context.Context, listener net.Listener) error {
	server := &http.Server{
		Handler: a.closeConnections(a.handler), ReadHeaderTimeout: 10 * time.Second, ReadTimeout: time.Minute,
		WriteTimeout: 90 * time.Second, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 64 << 10,
		DisableGeneralOptionsHandler: true,                                                                              // the router answers OPTIONS * too
		TLSConfig:                    &tls.Config{MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"}}, // HTTP/2 on a TLS listener
	}
	server.RegisterOnShutdown(a.service.Events.EndWaits)
	server.RegisterOnShutdown(a.graphql.Close)
	err := serveUntil(ctx, server, rest.ProblemListener(listener), drainTimeout-a.settings.DrainDelay)
	a.graphql.Close() // the server does not wait for WebSockets
	return err
}

func (a *app) runWorkers(ctx context.Context) error {
	if err := a.workers.Start(ctx); err != nil {
		if ctx.Err() != nil {
			return nil // stopped before it began
		}
		return fmt.Errorf("start workers: %w", err)
	}
	<-ctx.Done()
	drain, cancel := context.WithTimeout(context.WithoutCancel(ctx), drainTimeout)
	defer cancel()
	return a.workers.Stop(drain)
}

// serveUntil serves until ctx ends and then waits for the running requests.
func serveUntil(ctx context.Context, server *http.Server, listener net.Listener, limit time.Duration) error {
	done := make(chan error, 1)
	go func() { done <- server.Serve(listener) }()
	select {
	case err := <-done:
		return fmt.Errorf("serve: %w", err)
	case <-ctx.Done():
	}
	drain, cancel := context.WithTimeout(context.WithoutCancel(ctx), limit)
	defer cancel()
	return server.Shutdown(drain)
}
