package graph

import (
	"bytes"
	"context"
	stdjson "encoding/json" //nolint:depguard // the type in which gqlgen takes a variable's number
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strings"

	"github.com/99designs/gqlgen/graphql"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"parapet/internal/strictjson"
	"parapet/internal/upload"
	"parapet/internal/visit"
	"parapet/model"
)

// Bounds of a request, in bytes and values.
const (
	bodyLimit       = 1 << 20
	attachmentLimit = 15 << 20
	// valueLimit keeps variables small in memory and quickly refused: a thousand
	// observations, the most that one request may record, have less.
	valueLimit = 25_000
)

// posted is the body of a request. Other members are left alone: clients of many
// kinds add their own.
type posted struct {
	Query         string         `json:"query"`
	OperationName string         `json:"operationName"` //nolint:tagliatelle // the specification's name
	DocumentID    string         `json:"documentId"`    //nolint:tagliatelle // the specification's name
	Variables     map[string]any `json:"variables"`
	Extensions    map[string]any `json:"extensions"`
}

// params are the request as the executor takes it.
func (p *posted) params(headers http.Header) *graphql.RawParams {
	if p.DocumentID != "" {
		if p.Extensions == nil {
			p.Extensions = map[string]any{}
		}
		p.Extensions[documentID] = p.DocumentID
	}
	return &graphql.RawParams{
		Query: p.Query, OperationName: p.OperationName, Variables: p.Variables, Extensions: p.Extensions, Headers: headers,
	}
}

// read is what a request asks for, and how long its body was. Errors:
// media_type_unsupported, body_too_large, malformed_json, duplicate_field,
// parameter_invalid.
func read(r *http.Request) (*posted, int, error) {
	if r.Method != http.MethodPost {
		asked, err := fromAddress(r.URL.RawQuery)
		return asked, 0, err
	}
	if err := writtenAsJSON(r.Header); err != nil {
		return nil, 0, err
	}
	body, err := readBody(r)
	if err != nil {
		return nil, 0, err
	}
	asked := new(posted)
	return asked, len(body), parse(body, "", asked)
}

// writtenAsJSON refuses a body that does not say it is JSON in UTF-8. A browser
// cannot send that to another site without asking first.
func writtenAsJSON(header http.Header) error {
	media, parameters, err := mime.ParseMediaType(header.Get("Content-Type"))
	charset, encoding := parameters["charset"], header.Get("Content-Encoding")
	if err != nil || media != jsonType || charset != "" && !strings.EqualFold(charset, "utf-8") || encoding != "" && !strings.EqualFold(encoding, "identity") {
		return model.Fail(model.CodeMediaTypeUnsupported, "Send the body as it is, with the header Content-Type: application/json.")
	}
	return nil
}

// longBodies bounds how many bodies beyond bodyLimit are held in memory: they are parsed
// as a whole, one after the other, and wait for their turn in files.
var longBodies = make(chan struct{}, 1)

// readBody reads a body of at most 1 MiB; or of an attachment, which is one long
// string among the variables.
func readBody(r *http.Request) ([]byte, error) {
	v := visit.From(r.Context())
	lift := v.Hurry()
	defer lift()
	incoming, err := v.Receive(attachmentLimit)
	if err != nil {
		return nil, err
	}
	var body bytes.Buffer
	if length := r.ContentLength; length > 0 {
		body.Grow(int(min(length, bodyLimit+1)) + bytes.MinRead) // room to see the end
	}
	if _, err := body.ReadFrom(io.LimitReader(incoming, bodyLimit+1)); err != nil {
		return nil, v.CutOff(err)
	}
	if body.Len() <= bodyLimit {
		return body.Bytes(), nil
	}
	if !strictjson.InsideMember(body.Bytes()) {
		return nil, v.TooLarge(bodyLimit)
	}
	rest, err := upload.Spool(io.LimitReader(incoming, attachmentLimit-bodyLimit))
	switch {
	case upload.StoreFailed(err):
		return nil, err
	case err != nil:
		return nil, v.CutOff(err)
	}
	defer func() { _ = rest.Close() }() // a file without a name
	if int64(body.Len())+rest.Size() > attachmentLimit {
		return nil, v.TooLarge(attachmentLimit)
	}
	lift()
	return readLong(r.Context(), &body, rest)
}

// readLong adds the rest of a long body when it is its turn. The next one's turn comes
// when the request has ended.
func readLong(ctx context.Context, body *bytes.Buffer, rest *upload.Content) ([]byte, error) {
	select {
	case longBodies <- struct{}{}:
		context.AfterFunc(ctx, func() { <-longBodies })
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	body.Grow(int(rest.Size()) + bytes.MinRead)
	if _, err := body.ReadFrom(rest); err != nil {
		return nil, fmt.Errorf("read a long body: %w", err)
	}
	return body.Bytes(), nil
}

// numbers keeps the digits of a number as they were written.
var numbers = json.WithUnmarshalers(json.UnmarshalFromFunc(func(d *jsontext.Decoder, v *any) error {
	if d.PeekKind() != '0' {
		return errors.ErrUnsupported // everything else as usual
	}
	number, err := d.ReadValue()
	*v = stdjson.Number(number)
	return err
}))

// parse reads one JSON text into v, a member of the request by its name, or the
// whole of it. Nothing of the text comes back in an error.
func parse(text []byte, member string, v any) error {
	values, err := strictjson.Bounded(text)
	if err != nil {
		return err
	}
	if values > valueLimit {
		return model.Fail(model.CodeParameterInvalid, "The variables hold more than %d values. Send them in several requests.", valueLimit)
	}
	var unfit *json.SemanticError
	switch err := json.Unmarshal(text, v, numbers); {
	case errors.As(err, &unfit):
		pointer := string(unfit.JSONPointer)
		if member != "" {
			pointer = "/" + member
		}
		return wrongMember(pointer).Because(err)
	case err != nil:
		return strictjson.Malformed(text, err)
	}
	return nil
}

// wrongMember says of which kind a member is.
func wrongMember(pointer string) *model.Error {
	name, _, _ := strings.Cut(strings.TrimPrefix(pointer, "/"), "/")
	switch name {
	case "query", "operationName", documentID:
		return model.Fail(model.CodeParameterInvalid, "In the request, %s is a string.", name)
	case "variables", "extensions":
		return model.Fail(model.CodeParameterInvalid, "In the request, %s is an object.", name)
	default:
		return model.Fail(model.CodeParameterInvalid, "The body is one object, {\"query\": \"…\"}; send operations one by one.")
	}
}

// fromAddress reads the parameters of a GET, each once.
func fromAddress(query string) (*posted, error) {
	form, err := url.ParseQuery(query)
	if err != nil {
		return nil, model.Fail(model.CodeParameterInvalid, "The address cannot be read: a parameter is not percent-encoded.")
	}
	asked := new(posted)
	for name, values := range form {
		if len(values) > 1 {
			return nil, model.Fail(model.CodeParameterInvalid, "Give each parameter once.")
		}
		text := values[0]
		switch name {
		case "query":
			asked.Query = text
		case "operationName":
			asked.OperationName = text
		case documentID:
			asked.DocumentID = text
		case "variables":
			err = parseParameter(text, name, &asked.Variables)
		case "extensions":
			err = parseParameter(text, name, &asked.Extensions)
		}
		if err != nil {
			return nil, err
		}
	}
	return asked, nil
}

// parseParameter reads JSON from the address, where malformed JSON is a wrong
// parameter.
func parseParameter(text, name string, v *map[string]any) error {
	if text == "" {
		return nil
	}
	if err := parse([]byte(text), name, v); err != nil {
		return wrongMember(name).Because(err)
	}
	return nil
}

// attaches tells whether an operation may have a body of an attachment's length.
func attaches(operation *graphql.OperationContext) bool {
	fields := graphql.CollectFields(operation, operation.Operation.SelectionSet, []string{"Mutation"})
	for _, field := range fields {
		if field.Name == "addAttachment" {
			return true
		}
	}
	return false
}
