package scalar

import (
	"context"

	"github.com/99designs/gqlgen/graphql"

	"parapet/internal/upload"
)

// Content is bytes that a caller sends in base64.
type Content struct{ *upload.Content }

// MarshalText writes the digest, which identifies the bytes and is short.
func (c Content) MarshalText() ([]byte, error) { return []byte(c.SHA256), nil }

type contentsKey struct{}

// WithContents adds the body of a request, in which UnmarshalContent finds the contents.
func WithContents(ctx context.Context, body *upload.Body) context.Context {
	return context.WithValue(ctx, contentsKey{}, body)
}

// MarshalContent writes the digest of the bytes.
func MarshalContent(c Content) graphql.ContextMarshaler { return quoteText(c.SHA256, `"`) }

// UnmarshalContent decodes text, or returns the content that was decoded while the
// request arrived.
func UnmarshalContent(ctx context.Context, v any) (Content, error) {
	if ref, is := v.(upload.Ref); is {
		body, _ := ctx.Value(contentsKey{}).(*upload.Body)
		return Content{body.Content(ref)}, nil
	}
	s, err := UnmarshalString(v)
	return Content{upload.Decode(s)}, err
}
