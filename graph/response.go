package graph

import (
	"bytes"
	"context"
	"mime"
	"net/http"
	"strconv"
	"strings"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"parapet/internal/errormap"
	"parapet/internal/gateway"
	"parapet/model/kernel/apperr"
	"parapet/model/wire"
)

// The media types of a response. With the first, the HTTP status shows whether the
// request was valid; clients of the second look for errors in the body.
const (
	responseType = "application/graphql-response+json"
	jsonType     = "application/json"
)

// mediaType chooses between the two by RFC 9110 section 12.5.1: by weight and by how
// specific a range is. A client that accepts anything gets application/json, which the
// specification requires for older clients.
func mediaType(accept []string) (string, error) {
	ranges := strings.Join(accept, ",")
	if strings.TrimSpace(ranges) == "" {
		return jsonType, nil
	}
	response, plain := acceptWeight(ranges, responseType), acceptWeight(ranges, jsonType)
	switch {
	case response == 0 && plain == 0:
		return responseType, apperr.Fail(apperr.CodeNotAcceptable, "Answers are application/graphql-response+json or application/json; name one of them, or */*, in Accept.")
	case response > plain, response == plain && strings.Contains(ranges, responseType):
		return responseType, nil
	default:
		return jsonType, nil
	}
}

// acceptWeight returns the weight of a media type, 0 to 1.
func acceptWeight(ranges, media string) float64 {
	best, found := 0, 0.0
	for part := range strings.SplitSeq(ranges, ",") {
		name, parameters, err := mime.ParseMediaType(part)
		if err != nil {
			continue
		}
		if charset := parameters["charset"]; charset != "" && !strings.EqualFold(charset, "utf-8") {
			continue
		}
		precision := map[string]int{"*/*": 1, "application/*": 2, media: 3}[name]
		if precision <= best {
			continue
		}
		best, found = precision, 1
		if q, err := strconv.ParseFloat(parameters["q"], 64); err == nil {
			found = max(0, min(q, 1))
		}
	}
	return found
}

// statusOf returns the HTTP status of a response whose operation did not run. With
// application/json a readable request is answered with 200, as the specification
// requires.
func statusOf(media string, refusals gqlerror.List) int {
	code := apperr.CodeOf(refusals[0])
	status := errormap.MeaningOf(code).Status
	switch {
	case status == http.StatusUnprocessableEntity || code == errormap.CodePersistedQueryNotFound:
		if media == jsonType {
			return http.StatusOK
		}
		return http.StatusBadRequest
	case status == 0:
		return http.StatusInternalServerError
	default:
		return status
	}
}

// writeResponse sends a response. A response without execution has no data member. The
// data, which may be long, is not copied.
func writeResponse(w http.ResponseWriter, media string, status int, ran bool, response *graphql.Response) {
	parts, length := responseParts(response, ran), 0
	for _, part := range parts {
		length += len(part)
	}
	header := w.Header()
	header.Set("Content-Type", media+"; charset=utf-8")
	header.Set("Content-Length", strconv.Itoa(length))
	header.Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	for _, part := range parts {
		_, _ = w.Write(part) // the caller has left
	}
}

// responseParts returns the encoded response in parts: errors first, as the specification
// advises, then the data without a copy.
func responseParts(response *graphql.Response, ran bool) [][]byte {
	var head, tail bytes.Buffer
	head.WriteByte('{')
	if len(response.Errors) > 0 {
		writeMember(&head, "errors", response.Errors)
	}
	data := response.Data
	if ran {
		if head.Len() > 1 {
			head.WriteByte(',')
		}
		head.WriteString(`"data":`)
		if len(data) == 0 {
			data = []byte("null")
		}
	} else {
		data = nil
	}
	if len(response.Extensions) > 0 {
		tail.WriteByte(',')
		writeMember(&tail, "extensions", response.Extensions)
	}
	tail.WriteByte('}')
	return [][]byte{head.Bytes(), data, tail.Bytes()}
}

// joinResponse returns one response of a stream in one piece. A response with errors only
// was not executed.
func joinResponse(response *graphql.Response) []byte {
	return bytes.Join(responseParts(response, len(response.Data) > 0 || len(response.Errors) == 0), nil)
}

func writeMember(body *bytes.Buffer, name string, value any) {
	text, err := wire.Encode(value)
	if err != nil {
		text = []byte("null") // our own extensions and errors always encode
	}
	body.WriteString(`"` + name + `":`)
	body.Write(text)
}

// writeError answers a request that is not executed, in the form of a GraphQL response.
func writeError(ctx context.Context, w http.ResponseWriter, media string, err error) {
	request := gateway.FromContext(ctx)
	e := request.PublicError(ctx, err)
	kind := errormap.MeaningOf(e.Code)
	logServerError(ctx, e, err)
	request.SetErrorHeaders(e)
	shown := &gqlerror.Error{Message: e.Detail, Extensions: errorExtensions(e, request.RequestID)}
	writeResponse(w, media, kind.Status, false, &graphql.Response{Errors: gqlerror.List{shown}})
}
