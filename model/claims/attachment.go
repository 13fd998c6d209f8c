package claims

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"parapet/model/kernel/actor"
	"parapet/model/kernel/apperr"
	"parapet/model/kernel/event"
	"parapet/model/kernel/store"
	"parapet/model/wire"
)

// attachmentRow is a document of a claim. The file store has its bytes.
type attachmentRow struct {
	bun.BaseModel `bun:"table:attachments,alias:a"`
	store.RowHeader

	ClaimID     uuid.UUID `bun:"type:uuid"`
	Status      string
	FileName    string
	ContentType string
	Size        int64
	SHA256      string `bun:"sha256"`
	Purpose     *string
	Description *string
	StorageKey  string
}

// FileContent is the content of a document. It can be read at any offset and repeatedly.
type FileContent interface {
	io.ReaderAt
	Size() int64
}

// AttachmentRequest adds a document to a claim.
type AttachmentRequest struct {
	FileName    string
	ContentType string
	Content     FileContent `json:"-"`
	Purpose     *string
	Description *string
	SHA256      *string // hexadecimal; checked when given
}

const (
	maxAttachmentSize = 10 << 20
	maxAttachments    = 50
)

// AttachmentStatus is the status of a document.
type AttachmentStatus = string

// AttachmentStored means that the bytes of the document are stored.
const AttachmentStored AttachmentStatus = "stored"

// contentSize returns the length of the content in bytes.
func (in *AttachmentRequest) contentSize() int64 {
	if in.Content == nil {
		return 0
	}
	return in.Content.Size()
}

// contentReader returns a reader that starts at the beginning of the content.
func (in *AttachmentRequest) contentReader() io.Reader {
	return io.NewSectionReader(in.Content, 0, in.contentSize())
}

// contentDigest returns the SHA-256 of the content in hexadecimal.
func (in *AttachmentRequest) contentDigest() (string, error) {
	sum := sha256.New()
	if _, err := io.Copy(sum, in.contentReader()); err != nil {
		return "", fmt.Errorf("read attachment: %w", err)
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

// AddAttachment stores a document for a claim. The key is recorded in pending_uploads
// first, then the bytes are stored, then the record: a crash leaves at most an orphan
// file, which a sweep deletes after one day.
func (s *Service) AddAttachment(ctx context.Context, caller actor.Actor, claim string, in AttachmentRequest) (*wire.Attachment, error) {
	if err := s.Authorize(ctx, caller, actor.ScopeClaimsWrite); err != nil {
		return nil, err
	}
	v := apperr.NewValidator(ctx)
	digest, err := in.validate(v)
	if err != nil {
		return nil, err
	}
	if err := v.Err(); err != nil {
		return nil, err
	}
	on, err := LoadClaim(ctx, s.Store, caller, actor.ScopeClaimsWrite, claim)
	if err != nil {
		return nil, err
	}
	key := on.Partner + "/" + store.NewID().String()
	err = s.InTx(ctx, caller, func(ctx context.Context, tx *store.Tx) error {
		if err := checkAttachmentLimit(ctx, tx, on); err != nil {
			return err
		}
		_, err := tx.NewRaw("insert into pending_uploads (key, created_at) values (?, ?)", key, tx.Now).Exec(ctx)
		return err
	})
	if err != nil {
		return nil, err
	}
	if err := s.Files.Put(ctx, key, in.contentReader()); err != nil {
		return nil, fmt.Errorf("store attachment: %w", err)
	}
	var attachment *wire.Attachment
	err = s.InTx(ctx, caller, func(ctx context.Context, tx *store.Tx) error {
		attachment, err = insertAttachment(ctx, tx, on.ID, key, digest, in)
		return err
	})
	if err != nil && apperr.CodeOf(err) != apperr.CodeInternal { // after an internal error the transaction may have been committed
		err = errors.Join(err, s.Files.Delete(context.WithoutCancel(ctx), key))
	}
	return attachment, err
}

// checkAttachmentLimit returns an error when the claim has the maximum number of
// documents.
func checkAttachmentLimit(ctx context.Context, tx *store.Tx, on *ClaimRow) error {
	have, err := tx.NewSelect().Model((*attachmentRow)(nil)).Where("claim_id = ?", on.ID).Where("partner = ?", on.Partner).Count(ctx)
	switch {
	case err != nil:
		return fmt.Errorf("count attachments: %w", err)
	case have >= maxAttachments:
		return apperr.Fail(apperr.CodeStateConflict, "A claim can have at most %d attachments; write a message on the claim instead.", maxAttachments)
	}
	return nil
}

func insertAttachment(ctx context.Context, tx *store.Tx, claim uuid.UUID, key, digest string, in AttachmentRequest) (*wire.Attachment, error) {
	on, err := LockClaim(ctx, tx, claim)
	if err != nil {
		return nil, err
	}
	if err := checkAttachmentLimit(ctx, tx, on); err != nil {
		return nil, err
	}
	if err := CompleteUpload(ctx, tx, key); err != nil {
		return nil, err
	}
	row := &attachmentRow{
		RowHeader: tx.NewHeader(on.Partner), ClaimID: on.ID, Status: AttachmentStored, FileName: in.FileName, ContentType: in.ContentType,
		Size: in.contentSize(), SHA256: digest, Purpose: in.Purpose, Description: in.Description, StorageKey: key,
	}
	if _, err := tx.NewInsert().Model(row).Exec(ctx); err != nil {
		return nil, fmt.Errorf("insert attachment: %w", err)
	}
	public := row.toRecord()
	err = recordClaimAddition(ctx, tx, on, &row.RowHeader, store.ResourceAttachment, event.ClaimAttachmentAdded, public, "The document "+row.FileName+" was added.", map[string]any{"attachment_id": public.ID, "file_name": row.FileName})
	if err != nil {
		return nil, err
	}
	return public, tx.StoreResponse(store.StatusCreated, public.ID, public)
}

var (
	attachments = &store.Collection[attachmentRow, wire.Attachment]{
		Resource: store.ResourceAttachment, Plural: "attachments", RequiredScope: store.FixedScope(actor.ScopeClaimsRead),
		ToRecord: func(r *attachmentRow) wire.Attachment { return *r.toRecord() },
	}
	attachmentsOfClaims = &store.ChildCollection[attachmentRow, wire.Attachment]{
		Collection: attachments, CursorName: "attachments", Parent: store.ResourceClaim, ParentTable: "claims", JoinCondition: "!.claim_id = w.id and !.partner = w.partner",
		Order: store.SortNewestFirst, CursorKey: store.RowKey[attachmentRow], ParentID: func(r *attachmentRow) uuid.UUID { return r.ClaimID },
	}
)

// GetAttachments returns a claim's documents, newest first. Errors: not_found,
// cursor_invalid.
func (s *Service) GetAttachments(ctx context.Context, actor actor.Actor, claim string, in store.PageRequest) (*store.Page[wire.Attachment], error) {
	return attachmentsOfClaims.GetPage(ctx, s.Store, actor, claim, in)
}

// AttachmentsOf returns the documents of several claims, newest first.
func (s *Service) AttachmentsOf(ctx context.Context, actor actor.Actor, claims []string, in store.PageRequest) (map[string]*store.Page[wire.Attachment], error) {
	return attachmentsOfClaims.GetPages(ctx, s.Store, actor, claims, in)
}

// AttachmentsByID returns the documents with the given ids that the actor can see.
func (s *Service) AttachmentsByID(ctx context.Context, actor actor.Actor, ids []string) (map[string]*wire.Attachment, error) {
	return attachments.GetMany(ctx, s.Store, actor, ids)
}

// OpenAttachment returns a document with its bytes; the caller closes them. Errors:
// not_found.
func (s *Service) OpenAttachment(ctx context.Context, caller actor.Actor, claim, id string) (*wire.Attachment, io.ReadCloser, error) {
	on, err := LoadClaim(ctx, s.Store, caller, actor.ScopeClaimsRead, claim)
	if err != nil {
		return nil, nil, err
	}
	row := new(attachmentRow)
	if err := s.LoadRecord(ctx, caller, actor.ScopeClaimsRead, store.ResourceAttachment, id, row); err != nil {
		return nil, nil, err
	}
	if row.ClaimID != on.ID || row.StorageKey == "" { // the key is empty after an erasure
		return nil, nil, store.ResourceAttachment.NotFoundError()
	}
	content, err := s.Files.Open(ctx, row.StorageKey)
	if err != nil {
		return nil, nil, fmt.Errorf("open attachment: %w", err)
	}
	return row.toRecord(), content, nil
}

func (r *attachmentRow) toRecord() *wire.Attachment {
	claim, id := store.ResourceClaim.FormatID(r.ClaimID), store.ResourceAttachment.FormatID(r.ID)
	return &wire.Attachment{
		Header: r.ToHeader(store.ResourceAttachment), ClaimID: claim, FileName: r.FileName, ContentType: r.ContentType,
		Size: r.Size, SHA256: r.SHA256, Purpose: r.Purpose, Description: r.Description, Status: r.Status,
		DownloadURL: "/v1/claims/" + claim + "/attachments/" + id + "/content",
	}
}
