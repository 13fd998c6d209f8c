package httprail

import (
	"context"
	"errors"
	"io"
	"net/http"

	"github.com/go-json-experiment/json"

	"parapet/jobs/rail"
)

// NoticePath is where the rail tells us of a transfer on its own.
const NoticePath = "/rails/http/notices"

// ErrLater tells the rail to say it again later, ErrUnknown that the key is none
// of ours; a Taker returns them.
var (
	ErrLater   = errors.New("say it again later")
	ErrUnknown = errors.New("there is no payment under this key")
)

// Taker records what a rail said of a key.
type Taker func(ctx context.Context, key string, said rail.Result) error

// Notices answers at NoticePath. A notice counts only when it is signed by the
// rail, within five minutes; it may come any number of times.
func (r *Rail) Notices(take Taker) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		body, err := io.ReadAll(http.MaxBytesReader(w, request.Body, answerLimit))
		if err != nil {
			w.WriteHeader(http.StatusRequestEntityTooLarge)
			return
		}
		status := r.noticed(request, body, take)
		if status == http.StatusConflict || status == http.StatusServiceUnavailable {
			w.Header().Set("Retry-After", "60")
		}
		w.WriteHeader(status)
	})
}

func (r *Rail) noticed(request *http.Request, body []byte, take Taker) int {
	var said Transfer
	switch {
	case request.Method != http.MethodPost:
		return http.StatusMethodNotAllowed
	case !r.config.Secrets.VerifyRequest(request, body, r.config.Now()):
		return http.StatusUnauthorized
	case json.Unmarshal(body, &said) != nil:
		return http.StatusBadRequest
	}
	result := said.result(said.Key)
	if result.Err != nil || result.Outcome == rail.NotFound || result.Outcome == rail.NotSent {
		return http.StatusBadRequest
	}
	switch err := take(request.Context(), said.Key, result); {
	case err == nil:
		return http.StatusNoContent
	case errors.Is(err, ErrLater):
		return http.StatusConflict
	case errors.Is(err, ErrUnknown):
		return http.StatusNotFound
	default:
		return http.StatusServiceUnavailable
	}
}
