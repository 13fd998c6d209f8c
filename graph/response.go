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
	"parapet/model"
	"parapet/model/wire"
)

// The media types of an answer. The first tells by its status whether a request
// was good; clients of the second look for errors in the body.
const (
	responseType = "application/graphql-response+json"
	jsonType     = "application/json"
)

// mediaType chooses between the two as RFC 9110 section 12.5.1 says: by weight,
// and by how precisely a range fits. Who takes anything gets application/json,
// which the specification wants for clients that know nothing else.
func mediaType(accept []string) (string, error) {
	ranges := strings.Join(accept, ",")
	if strings.TrimSpace(ranges) == "" {
		return jsonType, nil
	}
	response, plain := acceptWeight(ranges, responseType), acceptWeight(ranges, jsonType)
	switch {
	case response == 0 && plain == 0:
		return responseType, model.Fail(model.CodeNotAcceptable, "Answers are application/graphql-response+json or application/json; name one of them, or */*, in Accept.")
	case response > plain, response == plain && strings.Contains(ranges, responseType):
		return responseType, nil
	default:
		return jsonType, nil
	}
}

// acceptWeight is how much a type is wanted, 0 to 1.
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

// statusOf is the status of an answer whose operation did not run. Over
// application/json a request that could be read is answered with 200, as the
// specification has it.
func statusOf(media string, refusals gqlerror.List) int {
	code := model.CodeOf(refusals[0])
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

// writeResponse sends a response. What failed before anything ran has no data. The data,
// which may be long, is not copied on its way.
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
		_, _ = w.Write(part) // a caller who is gone cannot be told
	}
}

// responseParts is a response as it is written, in parts: errors first, as the specification
// advises, and the data as it came.
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

// joinResponse is a response among several, in one piece. What has errors alone did not run.
func joinResponse(response *graphql.Response) []byte {
	return bytes.Join(responseParts(response, len(response.Data) > 0 || len(response.Errors) == 0), nil)
}

func writeMember(body *bytes.Buffer, name string, value any) {
	text, err := wire.Encode(value)
	if err != nil {
		text = []byte("null") // extensions and errors are of our own making
	}
	body.WriteString(`"` + name + `":`)
	body.Write(text)
}

// writeError answers a request of which nothing is run, in the form of every GraphQL
// answer.
func writeError(ctx context.Context, w http.ResponseWriter, media string, err error) {
	request := gateway.FromContext(ctx)
	e := request.PublicError(ctx, err)
	kind := errormap.MeaningOf(e.Code)
	logServerError(ctx, e, err)
	request.SetErrorHeaders(e)
	shown := &gqlerror.Error{Message: e.Detail, Extensions: errorExtensions(e, request.RequestID)}
	writeResponse(w, media, kind.Status, false, &graphql.Response{Errors: gqlerror.List{shown}})
}
