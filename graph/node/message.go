package node

import (
	"context"

	"parapet/graph/scalar"
	"parapet/model/claims"
	"parapet/model/kernel/actor"
	"parapet/model/kernel/apperr"
	"parapet/model/wire"
)

// Message is a message about a claim.
type Message struct{ *wire.Message }

// IsNode implements Node.
func (*Message) IsNode() {}

func (r *Reader) newMessages(records []*wire.Message) []*Message {
	return wrapEach(records, func(m *wire.Message) *Message { return &Message{m} })
}

// Attachment is a document of a claim.
type Attachment struct{ *wire.Attachment }

// IsNode implements Node.
func (*Attachment) IsNode() {}

func (r *Reader) newAttachments(records []*wire.Attachment) []*Attachment {
	return wrapEach(records, func(a *wire.Attachment) *Attachment { return &Attachment{a} })
}

// AddMessageInput is the input of AddMessage.
type AddMessageInput struct {
	ClaimID, Body    string
	ClientMutationID *string
}

// AddMessagePayload is the added message.
type AddMessagePayload struct {
	Message          *Message
	ClientMutationID *string
}

// AddMessage adds a message to a claim.
func (r *Reader) AddMessage(ctx context.Context, in AddMessageInput) (*AddMessagePayload, error) {
	record, err := runMutation(ctx, r, in.ClientMutationID, [2]string{in.ClaimID, in.Body},
		func(ctx context.Context, actor actor.Actor, said [2]string) (*wire.Message, error) {
			return r.Service.Claims.AddMessage(ctx, actor, said[0], said[1])
		})
	message, err := toNode(r.newMessages)(record, err)
	return &AddMessagePayload{message, in.ClientMutationID}, err
}

// AddAttachmentInput is the input of AddAttachment.
type AddAttachmentInput struct {
	claims.AttachmentRequest
	ClaimID          string
	ContentBase64    scalar.Content
	ClientMutationID *string
}

// AddAttachmentPayload is the added attachment.
type AddAttachmentPayload struct {
	Attachment       *Attachment
	ClientMutationID *string
}

// AddAttachment adds a document to a claim. It reports unreadable content together with
// all other errors.
func (r *Reader) AddAttachment(ctx context.Context, in AddAttachmentInput) (*AddAttachmentPayload, error) {
	if in.ContentBase64.NotBase64 {
		ctx = apperr.WithFieldErrors(ctx, apperr.FieldError{Pointer: "/content_base64", Code: "format", Detail: "Give the bytes in base64 (RFC 4648 section 4, padded)."})
	} else {
		in.Content = in.ContentBase64
	}
	client := in.ClientMutationID
	in.ClientMutationID = nil // not part of the request's identity
	record, err := runMutation(ctx, r, client, in, func(ctx context.Context, actor actor.Actor, in AddAttachmentInput) (*wire.Attachment, error) {
		return r.Service.Claims.AddAttachment(ctx, actor, in.ClaimID, in.AttachmentRequest)
	})
	attachment, err := toNode(r.newAttachments)(record, err)
	return &AddAttachmentPayload{attachment, client}, err
}
