package graph

import (
	"context"
	"errors"
	"maps"
	"net/http"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"parapet/graph/budget"
	"parapet/graph/scalar"
	"parapet/internal/errormap"
	"parapet/internal/gateway"
	"parapet/model/kernel/apperr"
)

// presentError converts an error to the GraphQL form with the codes of REST. Unexpected
// errors show only a request id; the log has the cause.
func presentError(ctx context.Context, err error) *gqlerror.Error {
	var panicked *errormap.Panic
	if isDropped(ctx) && !errors.As(err, &panicked) {
		return fieldDropped // thousands of fields may fail
	}
	request := gateway.FromContext(ctx)
	shown := &gqlerror.Error{Path: graphql.GetPath(ctx), Extensions: map[string]any{}}
	var found *gqlerror.Error
	var inside ast.Path // path within the arguments
	if errors.As(err, &found) {
		if found.Path != nil {
			shown.Path, inside = splitFieldPath(ctx, found.Path)
		}
		shown.Locations = found.Locations
		if found.Unwrap() == nil {
			shown.Message = found.Message
			maps.Copy(shown.Extensions, found.Extensions)
			shown.Extensions["request_id"] = request.RequestID
			return shown
		}
	}
	if len(shown.Path) > 0 {
		ctx = gateway.WithOperation(ctx, shown.Path[:1].String())
	}
	e := request.PublicError(ctx, err)
	logServerError(ctx, e, err)
	var field *ast.FieldDefinition
	if resolved := graphql.GetFieldContext(ctx); resolved != nil && resolved.Field.Field != nil {
		field = resolved.Field.Definition
	}
	if len(inside) > 0 && len(e.Fields) == 1 && e.Fields[0].Pointer == "" {
		e.Fields[0].Pointer = scalar.Pointer(inside)
	}
	e = schemaNames().translateError(field, e)
	shown.Message, shown.Extensions = e.Detail, errorExtensions(e, request.RequestID)
	return shown
}

// isDropped reports whether a field's error needs no text: the caller has left, or the
// operation has exceeded its budget. A mutation field always returns its own error.
func isDropped(ctx context.Context) bool {
	field := graphql.GetFieldContext(ctx)
	if field == nil {
		return false
	}
	exceeded := budget.From(ctx).ChargeError() != nil && field.Parent != nil && field.Parent.Field.Field != nil
	return exceeded || gateway.CallerLeft(ctx) || budgetError(ctx, graphql.GetOperationContext(ctx)) != nil
}

// fieldDropped is the error of every dropped field.
var fieldDropped = &gqlerror.Error{
	Message: "The field was not resolved, because the operation ended before.", Extensions: map[string]any{"code": string(errormap.CodeQueryTooCostly)},
}

// logServerError logs an error that is the server's fault. A failure after the caller
// left is not logged, except a panic.
func logServerError(ctx context.Context, shown *apperr.Error, err error) {
	var panicked *errormap.Panic
	if errormap.MeaningOf(shown.Code).Status >= http.StatusInternalServerError && (!gateway.CallerLeft(ctx) || errors.As(err, &panicked)) {
		gateway.FromContext(ctx).LogCause(err)
	}
}

// splitFieldPath splits a path into the path of a field of the response and the rest
// inside the field's arguments, which are not part of the response.
func splitFieldPath(ctx context.Context, path ast.Path) (field, inside ast.Path) {
	if resolved := graphql.GetFieldContext(ctx); resolved != nil && len(resolved.Path()) < len(path) {
		return path[:len(resolved.Path())], path[len(resolved.Path()):]
	}
	return path, nil
}

// errorExtensions returns the members of a REST problem that GraphQL does not have
// itself.
func errorExtensions(e *apperr.Error, request string) map[string]any {
	kind := errormap.MeaningOf(e.Code)
	all := map[string]any{}
	maps.Copy(all, e.Extra)
	all["code"], all["status"], all["retryable"], all["request_id"] = string(e.Code), kind.Status, errormap.IsRetryable(e), request
	if e.ResourceID != "" {
		all["resource_id"] = e.ResourceID
	}
	if len(e.Fields) > 0 {
		all["errors"] = e.Fields
	}
	return all
}

// recoverPanic converts a panic to an unexpected error.
func recoverPanic(_ context.Context, panicked any) error { return errormap.NewPanic(panicked) }
