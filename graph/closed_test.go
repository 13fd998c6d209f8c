package graph

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/99designs/gqlgen/graphql"
	"github.com/stretchr/testify/require"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"parapet/graph/node"
	"parapet/graph/scalar"
	"parapet/internal/errormap"
	"parapet/internal/gateway"
	"parapet/model/kernel/apperr"
)

// contentKeeper is an executor that keeps the content of a request after its end.
type contentKeeper struct {
	graphql.GraphExecutor

	content  scalar.Content
	panicked bool
}

// CreateOperationContext rejects every request, or panics.
func (k *contentKeeper) CreateOperationContext(ctx context.Context, params *graphql.RawParams) (*graphql.OperationContext, gqlerror.List) {
	k.content, _ = scalar.UnmarshalContent(ctx, params.Variables["a"])
	if _, err := k.content.ReadAt(make([]byte, 1), 0); err != nil {
		return nil, gqlerror.List{gqlerror.Wrap(err)}
	}
	if k.panicked {
		panic("a fault of ours")
	}
	return &graphql.OperationContext{}, gqlerror.List{gqlerror.Errorf("refused")}
}

// DispatchError answers.
func (*contentKeeper) DispatchError(_ context.Context, list gqlerror.List) *graphql.Response {
	return &graphql.Response{Errors: list}
}

func TestContentIsRemovedWhenItsRequestEnds(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		accept   string
		panicked bool
	}{"answered": {jsonType, false}, "streamed": {eventStreamType, false}, "panicked": {jsonType, true}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/graphql", strings.NewReader(`{"variables":{"a":"`+strings.Repeat("QUJD", 1<<19)+`"}}`))
			r.Header = http.Header{"Content-Type": {jsonType}, "Accept": {c.accept}}
			ctx := gateway.NewContext(node.WithReader(r.Context(), new(node.Reader)), &gateway.Request{
				LimitBodyTime: func() func() { return func() {} }, OpenBody: func(int64) (io.Reader, error) { return r.Body, nil },
				PublicError: func(_ context.Context, err error) *apperr.Error {
					return errormap.PublicError(err, func() bool { return false })
				},
				SetErrorHeaders: func(*apperr.Error) {},
			})
			keeper := &contentKeeper{panicked: c.panicked}
			do := func() {
				httpTransport{newStreams(Streams{}, nil)}.Do(httptest.NewRecorder(), r.WithContext(ctx), keeper)
			}
			if c.panicked {
				require.Panics(t, do)
			} else {
				do()
			}
			require.EqualValues(t, 3<<19, keeper.content.Size())
			_, err := keeper.content.ReadAt(make([]byte, 1), 0)
			require.ErrorIs(t, err, os.ErrClosed)
		})
	}
}
