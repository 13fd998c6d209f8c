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

// ErrRetryLater tells the rail to say it again later, ErrUnknownKey that the key is none
// of ours; a Taker returns them.
var (
	ErrRetryLater = errors.New("say it again later")
	ErrUnknownKey = errors.New("there is no payment under this key")
)

// NoticeRecorder records what a rail said of a key.
type NoticeRecorder func(ctx context.Context, key string, said rail.Result) error

// NoticeHandler answers at NoticePath. A notice counts only when it is signed by the
// rail, within five minutes; it may come any number of times.
func (r *Rail) NoticeHandler(take NoticeRecorder) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		body, err := io.ReadAll(http.MaxBytesReader(w, request.Body, maxAnswerSize))
		if err != nil {
			w.WriteHeader(http.StatusRequestEntityTooLarge)
			return
		}
		status := r.recordNotice(request, body, take)
		if status == http.StatusConflict || status == http.StatusServiceUnavailable {
			w.Header().Set("Retry-After", "60")
		}
		w.WriteHeader(status)
	})
}

func (r *Rail) recordNotice(request *http.Request, body []byte, take NoticeRecorder) int {
	var said Transfer
	switch {
	case request.Method != http.MethodPost:
		return http.StatusMethodNotAllowed
	case !r.config.Secrets.VerifyRequest(request, body, r.config.Now()):
		return http.StatusUnauthorized
	case json.Unmarshal(body, &said) != nil:
		return http.StatusBadRequest
	}
	result := said.toResult(said.Key)
	if result.Err != nil || result.Outcome == rail.NotFound || result.Outcome == rail.NotSent {
		return http.StatusBadRequest
	}
	switch err := take(request.Context(), said.Key, result); {
	case err == nil:
		return http.StatusNoContent
	case errors.Is(err, ErrRetryLater):
		return http.StatusConflict
	case errors.Is(err, ErrUnknownKey):
		return http.StatusNotFound
	default:
		return http.StatusServiceUnavailable
	}
}
