package graph

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"runtime/debug"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"parapet/internal/refusal"
	"parapet/internal/visit"
	"parapet/model"
)

// present writes an error with the codes of REST. What the library itself finds
// wrong with a document stays as it is; a model.Error is shown; of anything else
// the caller gets an id, and the log the text.
func present(ctx context.Context, err error) *gqlerror.Error {
	v := visit.From(ctx)
	shown := &gqlerror.Error{Path: graphql.GetPath(ctx), Extensions: map[string]any{}}
	var found *gqlerror.Error
	if errors.As(err, &found) {
		if found.Path != nil {
			shown.Path = found.Path
		}
		shown.Locations = found.Locations
		if found.Unwrap() == nil {
			shown.Message = found.Message
			maps.Copy(shown.Extensions, found.Extensions)
			shown.Extensions["request_id"] = v.RequestID
			return shown
		}
	}
	if len(shown.Path) > 0 {
		ctx = visit.Doing(ctx, shown.Path[:1].String())
	}
	e := v.Shown(ctx, err)
	if refusal.KindOf(e.Code).Status >= http.StatusInternalServerError {
		v.Blame(err)
	}
	shown.Message, shown.Extensions = e.Detail, extensions(e, v.RequestID)
	return shown
}

// extensions are a problem's members, without those that GraphQL has itself.
func extensions(e *model.Error, request string) map[string]any {
	kind := refusal.KindOf(e.Code)
	all := map[string]any{}
	maps.Copy(all, e.Extra)
	all["code"], all["status"], all["retryable"], all["request_id"] = string(e.Code), kind.Status, kind.Retryable, request
	if e.ResourceID != "" {
		all["resource_id"] = e.ResourceID
	}
	if len(e.Fields) > 0 {
		all["errors"] = inputFields(e)
	}
	return all
}

// survive makes a panic an error like any other that nobody explained.
func survive(_ context.Context, panicked any) error {
	return fmt.Errorf("panic: %v\n%s", panicked, debug.Stack())
}
