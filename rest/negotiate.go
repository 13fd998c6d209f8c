package rest

import (
	"mime"
	"net/http"
	"strconv"
	"strings"

	"parapet/model/kernel/apperr"
)

// checkAccept rejects a caller that does not accept JSON, before anything is done. A
// missing Accept header accepts anything; a file download is not checked.
func (c *requestContext) checkAccept() error {
	ranges := strings.Join(c.request.Header.Values("Accept"), ",")
	if c.route.returnsFile || strings.TrimSpace(ranges) == "" || acceptsJSON(ranges) {
		return nil
	}
	return apperr.Fail(apperr.CodeNotAcceptable, "Answers are application/json; name it, or */*, in Accept.")
}

// acceptsJSON evaluates Accept by RFC 9110 section 12.5.1: the most specific matching
// range decides, and a weight of 0 rejects.
func acceptsJSON(ranges string) bool {
	_, accepted := mediaWeight(ranges, map[string]int{"*/*": 1, "application/*": 2, jsonType: 3})
	return accepted
}

// mediaWeight finds the most specific range in Accept by precisions and reports whether
// its weight accepts it. Ranges without a precision do not count; best is 0 when none
// counts.
func mediaWeight(ranges string, precisions map[string]int) (best int, accepted bool) {
	for part := range strings.SplitSeq(ranges, ",") {
		media, parameters, err := mime.ParseMediaType(part)
		if err != nil {
			continue
		}
		if precision := precisions[media]; precision > best {
			weight, err := strconv.ParseFloat(parameters["q"], 64)
			best, accepted = precision, err != nil || weight > 0
		}
	}
	return best, accepted
}

// checkContentType rejects a body that is not declared as JSON in UTF-8, or as a merge
// patch for PATCH.
func (c *requestContext) checkContentType() error {
	header := c.request.Header
	media, parameters, err := mime.ParseMediaType(header.Get("Content-Type"))
	charset := parameters["charset"]
	encoding := header.Get("Content-Encoding")
	switch {
	case err != nil || media != jsonType && (media != mergePatchType || c.request.Method != http.MethodPatch), charset != "" && !strings.EqualFold(charset, "utf-8"):
		return apperr.Fail(apperr.CodeMediaTypeUnsupported, "Send the body with the header Content-Type: application/json.")
	case encoding != "" && !strings.EqualFold(encoding, "identity"):
		return apperr.Fail(apperr.CodeMediaTypeUnsupported, "Send the body without Content-Encoding.")
	default:
		return nil
	}
}
