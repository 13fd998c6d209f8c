package node

import (
	"context"
	"fmt"
	"strings"

	"parapet/model"
)

// one makes the node of a single record.
func one[R, N any](together func([]*R) []*N) func(*R, error) (*N, error) {
	return func(record *R, err error) (*N, error) {
		if err != nil {
			return nil, err
		}
		return together([]*R{record})[0], nil
	}
}

// Node finds a record of any kind; nil when there is none.
func (r *Reader) Node(ctx context.Context, id string) (Node, error) {
	var found Node
	var err error
	switch prefix, _, _ := strings.Cut(id, "_"); prefix {
	case "quo":
		found, err = r.Quote(ctx, id)
	case "pol":
		found, err = r.Policy(ctx, id)
	case "clm":
		found, err = r.Claim(ctx, id)
	case "pay":
		found, err = r.Payout(ctx, id)
	case "occ":
		found, err = r.Occurrence(ctx, id)
	case "obs":
		found, err = r.Observation(ctx, id)
	default:
		return nil, nil
	}
	if model.CodeOf(err) == model.CodeNotFound {
		return nil, nil
	}
	return found, err
}

// Nodes finds records of any kind, in the order of their ids.
func (r *Reader) Nodes(ctx context.Context, ids []string) ([]Node, error) {
	if len(ids) > model.MaxPageSize {
		return nil, model.Invalid(model.FieldError{Pointer: "/ids", Code: "length", Detail: fmt.Sprintf("Name at most %d ids.", model.MaxPageSize)})
	}
	found := make([]Node, len(ids))
	for i, id := range ids {
		var err error
		if found[i], err = r.Node(ctx, id); err != nil {
			return nil, err
		}
	}
	return found, nil
}
