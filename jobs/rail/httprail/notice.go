package httprail

import (
	"context"
	"errors"
	"io"
	"net/http"

	"github.com/go-json-experiment/json"

	"parapet/jobs/rail"
)

// NoticePath is where the rail sends notices about transfers.
const NoticePath = "/rails/http/notices"

// A NoticeRecorder returns ErrRetryLater to make the rail send the notice again later and
// ErrUnknownKey for a key that we never used.
var (
	ErrRetryLater = errors.New("say it again later")
	ErrUnknownKey = errors.New("there is no payment under this key")
)

// NoticeRecorder records a rail's notice about a key.
type NoticeRecorder func(ctx context.Context, key string, said rail.Result) error

// NoticeHandler serves NoticePath. It accepts a notice only if the rail signed it within
// the last five minutes. A notice may arrive any number of times.
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
