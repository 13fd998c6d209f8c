package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"strings"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"

	"parapet/console"
	"parapet/graph/sandbox"
	"parapet/internal/signin"
	"parapet/jobs"
	"parapet/model/kernel/actor"
	"parapet/model/kernel/apperr"
	"parapet/model/kernel/seal"
)

// The addresses of River's user interface and of the audit log.
const (
	jobsPath  = signin.Path + "/jobs"
	auditPath = signin.Path + "/audit.csv"
	// sessionPath has the links of the sign-in's home page where the console is served.
	sessionPath = signin.Path + "/session"
)

// sandboxPage returns the handlers of the page at /sandbox.
func (a *app) sandboxPage() (map[string]http.Handler, error) {
	params, err := parsePairs(a.settings.OperatorUIParams)
	if err != nil {
		return nil, fmt.Errorf("PARAPET_OPERATOR_UI_PARAMS: %w", err)
	}
	return sandbox.New(sandbox.Config{
		Client: a.settings.SandboxClient, Issuers: a.settings.Issuers, Params: params,
		Scope: cmp.Or(a.settings.SandboxScope, partnerScope()), OperatorScope: oidc.ScopeOpenID + " " + string(actor.ScopeOperator),
	})
}

// consolePages returns the handlers of the console at /console, which has the client and
// the parameters of the page at /sandbox.
func (a *app) consolePages() (map[string]http.Handler, error) {
	params, err := parsePairs(a.settings.OperatorUIParams)
	if err != nil {
		return nil, fmt.Errorf("PARAPET_OPERATOR_UI_PARAMS: %w", err)
	}
	return console.New(console.Config{
		Client: a.settings.SandboxClient, Params: params, Rehearsal: a.settings.Rehearsal, Discover: a.discoverIssuer,
		Scope: cmp.Or(a.settings.SandboxScope, partnerScope()), OperatorScope: oidc.ScopeOpenID + " " + string(actor.ScopeOperator),
	})
}

// discoverIssuer reads the endpoints of the first issuer.
func (a *app) discoverIssuer(ctx context.Context) (console.Endpoints, error) {
	provider, err := oidc.NewProvider(ctx, a.settings.Issuers[0])
	if err != nil {
		return console.Endpoints{}, err
	}
	found := provider.Endpoint()
	return console.Endpoints{Issuer: a.settings.Issuers[0], Authorization: found.AuthURL, Token: found.TokenURL}, nil
}

// partnerScope returns the scopes of a partner's sign-in.
func partnerScope() string {
	return oidc.ScopeOpenID + " " + strings.Join(scopeNames(actor.PartnerScopes()...), " ")
}

// openOperatorUI adds the operators' pages to the handlers.
func (a *app) openOperatorUI(queue *jobs.Queue, keys seal.Keys) error {
	if !a.settings.OperatorUI {
		return nil
	}
	more, err := parsePairs(a.settings.OperatorUIParams)
	if err != nil {
		return fmt.Errorf("PARAPET_OPERATOR_UI_PARAMS: %w", err)
	}
	config := signin.Config{
		AuthParams: more, Issuer: a.settings.Issuers[0], Client: a.settings.OperatorUIClient, Secret: a.settings.OperatorUISecret,
		Origin: a.settings.BaseURL, InsecureCookies: a.settings.Loopback, Now: time.Now, Sessions: a.service.Operations,
		Links: []signin.Link{
			{Path: jobsPath + "/jobs", Title: "Jobs", About: "Queued, running and failed jobs as River shows them, to look at."},
			{Path: auditPath, Title: "Audit log", About: "Actions of operators and refused actions, as CSV, newest first."},
		},
	}
	if a.settings.SandboxPage {
		config.Links = append(config.Links, signin.Link{Path: sandbox.Path, Title: "GraphQL", About: "Everything else, such as decisions, approvals, holds and exceptions. It has its own sign-in."})
	}
	for _, key := range keys.Seal {
		config.Keys = append(config.Keys, key.Secret)
	}
	config.OnSignIn = func(_ context.Context, who actor.Actor, refused error) {
		var refusal *apperr.Error
		if errors.As(refused, &refusal) && refusal.Code == apperr.CodeInsufficientScope {
			a.service.Audit.RecordRefusal(who, refusal)
		}
	}
	ui, err := signin.New(config)
	if err != nil {
		return fmt.Errorf("PARAPET_OPERATOR_UI: %w", err)
	}
	if a.jobAdmin, err = queue.NewRiverUI(jobsPath, a.log); err != nil {
		return fmt.Errorf("job console: %w", err)
	}
	a.operatorHandlers = ui.Handlers()
	if a.settings.Console { // its operator part has what the home page of these pages links to
		a.operatorHandlers["GET "+sessionPath] = a.operatorHandlers["GET "+signin.Path]
		a.operatorHandlers["GET "+signin.Path] = http.RedirectHandler(console.Path+"/inbox", http.StatusSeeOther)
	}
	maps.Copy(a.operatorHandlers, map[string]http.Handler{
		"GET " + jobsPath:  http.RedirectHandler(jobsPath+"/jobs", http.StatusSeeOther),
		"GET " + auditPath: ui.Guard(http.HandlerFunc(a.auditCSV)),
		jobsPath + "/":     ui.Guard(a.jobAdmin),
	})
	return nil
}
