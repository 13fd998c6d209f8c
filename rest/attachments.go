package rest

import (
	"context"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strconv"

	"github.com/danielgtaylor/huma/v2"

	"parapet/internal/upload"
	"parapet/model/claims"
	"parapet/model/kernel/store"
	"parapet/model/wire"
)

type attachmentRequest struct {
	FileName      string        `json:"file_name" minLength:"1" maxLength:"255" doc:"A plain file name, without folders and control characters. Its extension is one of its type: .pdf, .png, .jpg or .jpeg, .webp, .heic or .heif, .csv, .json, .geojson or .json, .txt, .text, .log or .md; or it has none." example:"damage.pdf"`
	ContentType   string        `json:"content_type" enum:"application/pdf,image/png,image/jpeg,image/webp,image/heic,text/csv,application/json,application/geo+json,text/plain" doc:"Must agree with what the bytes look like. Text, CSV, JSON and GeoJSON are UTF-8; JSON must parse, and GeoJSON be an object of a type of RFC 7946."`
	ContentBase64 base64Content `json:"content_base64" doc:"The bytes in base64 (RFC 4648 section 4): at most 10 MiB before encoding."`
	Purpose       *string       `json:"purpose,omitzero" maxLength:"100"`
	Description   *string       `json:"description,omitzero" maxLength:"1000"`
	SHA256        *string       `json:"sha256,omitzero"`
}

// base64Content is the bytes of a document, decoded while the request arrived.
type base64Content struct{ *upload.Content }

// Schema describes a base64 string.
func (base64Content) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Type: huma.TypeString, ContentEncoding: "base64"}
}

// fileContent returns the content for the domain; nil without one.
func (c base64Content) fileContent() claims.FileContent {
	if c.Content == nil {
		return nil
	}
	return c.Content
}

func (s *server) addAttachment(ctx context.Context, c *requestContext, in attachmentRequest) (*wire.Attachment, error) {
	return s.Service.Claims.AddAttachment(ctx, c.actor, c.pathParam("claim_id"), claims.AttachmentRequest{
		FileName: in.FileName, ContentType: in.ContentType, Content: in.ContentBase64.fileContent(),
		Purpose: in.Purpose, Description: in.Description, SHA256: in.SHA256,
	})
}

func (s *server) getAttachments(ctx context.Context, c *requestContext, page store.PageRequest) (*store.Page[wire.Attachment], error) {
	return s.Service.Claims.GetAttachments(ctx, c.actor, c.pathParam("claim_id"), page)
}

func (s *server) downloadAttachment(ctx context.Context, c *requestContext) error {
	attachment, content, err := s.Service.Claims.OpenAttachment(ctx, c.actor, c.pathParam("claim_id"), c.pathParam("attachment_id"))
	if err != nil {
		return err
	}
	defer func() { _ = content.Close() }()
	return c.writeFile(attachment, content)
}

// writeFile streams a stored document so that no browser ever runs it: it is saved under
// its name, its type is not guessed, and a page made of it may do nothing.
func (c *requestContext) writeFile(a *wire.Attachment, content io.Reader) error {
	header := c.Header()
	tag := `"` + a.SHA256 + `"`
	header.Set("ETag", tag)
	if matchesEntityTag(c.request.Header.Values("If-None-Match"), tag) {
		c.WriteHeader(http.StatusNotModified)
		return nil
	}
	header.Set("Content-Type", a.ContentType)
	header.Set("Content-Length", strconv.FormatInt(a.Size, 10))
	header.Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": a.FileName}))
	header.Set("Content-Security-Policy", "default-src 'none'; sandbox")
	c.WriteHeader(http.StatusOK)
	if c.request.Method == http.MethodHead {
		return nil
	}
	if _, err := io.Copy(c, content); err != nil {
		return fmt.Errorf("send attachment %s: %w", a.ID, err)
	}
	return nil
}
