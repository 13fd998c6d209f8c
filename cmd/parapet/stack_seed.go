package main

import (
	"context"
	"errors"
	"fmt"

	"parapet/internal/devissuer"
	"parapet/migrations"
	"parapet/model/kernel/actor"
	"parapet/model/partners"
)

// requireOwnDatabase rejects a foreign database: it must be empty or marked by an earlier
// run, because the simulator would mark real payouts as paid.
func (s *stack) requireOwnDatabase(ctx context.Context) error {
	if s.postgres != nil {
		return nil // the stack's own, even if an earlier run was interrupted before marking it
	}
	if err := migrations.Check(ctx, s.app.db.Pool); err != nil {
		var tables int
		err := s.app.db.Pool.QueryRow(ctx, "select count(*) from information_schema.tables where table_schema = 'public'").Scan(&tables)
		if err != nil || tables == 0 {
			return err
		}
	}
	rehearses, err := s.app.service.IsRehearsal(ctx)
	if err != nil {
		return fmt.Errorf("the database is neither empty nor Parapet's: %w", err)
	}
	if !rehearses {
		return errors.New("this database is not the development stack's: name an empty one, or leave DATABASE_URL out")
	}
	return nil
}

// seedDatabase marks the database before writing anything else, sets the clock if
// requested, registers the demo partners and publishes the products.
func (s *stack) seedDatabase(ctx context.Context) error {
	if err := s.app.service.MarkForRehearsals(ctx); err != nil {
		return err
	}
	if s.options.clockOffset != nil {
		if err := s.app.service.ShiftClock(ctx, *s.options.clockOffset); err != nil {
			return err
		}
	}
	for name, title := range map[string]string{"acme": "Acme Insurance", "globex": "Globex Bank"} {
		if _, _, err := s.app.service.Partners.Register(ctx, actor.System(), partners.Request{Slug: name, Name: title}); err != nil {
			return err
		}
	}
	if _, err := s.app.service.Products.PublishShipped(ctx); err != nil {
		return err
	}
	return s.app.service.Capacity.ApplyShippedMoratoriumRules(ctx, s.options.withMoratoria)
}

// seedClients returns the seeded OAuth clients: two partners, an operator and a source.
func (s *stack) seedClients() []devissuer.Client {
	partner := scopeNames(actor.PartnerScopes()...)
	return []devissuer.Client{
		{ID: "acme", Secret: s.secrets.Clients["acme"], Scopes: partner, Partner: "acme", AnyLoopback: true},
		{ID: "globex", Secret: s.secrets.Clients["globex"], Scopes: partner, Partner: "globex", AnyLoopback: true},
		{ID: "operator", Secret: s.secrets.Clients["operator"], Scopes: scopeNames(actor.ScopeOperator, actor.ScopeObservationsWrite), AnyLoopback: true},
		{ID: "source", Secret: s.secrets.Clients["source"], Scopes: scopeNames(actor.ScopeObservationsWrite), AnyLoopback: true},
	}
}

// consoleClient is the public client of browser pages: the user's scopes decide what it
// may do.
func consoleClient() devissuer.Client {
	scopes := append(actor.PartnerScopes(), actor.ScopeOperator, actor.ScopeObservationsWrite)
	return devissuer.Client{ID: "console", Scopes: scopeNames(scopes...), AnyLoopback: true}
}

func scopeNames(scopes ...actor.Scope) []string {
	names := make([]string, len(scopes))
	for i, scope := range scopes {
		names[i] = string(scope)
	}
	return names
}

// seedUsers are the users for browser sign-in; in development a name is enough. A second
// operator exists for approvals that need two.
func (s *stack) seedUsers() []devissuer.User {
	var users []devissuer.User
	for _, c := range s.seedClients() {
		users = append(users, devissuer.User{Name: c.ID, Scopes: c.Scopes, Partner: c.Partner})
	}
	return append(users, devissuer.User{Name: "second-operator", Scopes: scopeNames(actor.ScopeOperator)})
}
