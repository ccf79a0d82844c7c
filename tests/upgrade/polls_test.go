//go:build upgrade

package upgrade

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"time"
)

// pollTime is how long polls wait for tasks and messages. On AWS it is a minute and 20 s, and a worker
// that stops waits for its last polls, because each may still bring something.
const pollTime = time.Second

// shortPolls makes polls end after pollTime.
func shortPolls(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.Header.Get("X-Amz-Target") {
		case "AWSStepFunctions.GetActivityTask":
			pollForTask(w, r, next)
		case "AmazonSQS.ReceiveMessage":
			pollForMessages(w, r, next)
		default:
			next.ServeHTTP(w, r)
		}
	})
}

func pollForTask(w http.ResponseWriter, r *http.Request, next http.Handler) {
	ctx, cancel := context.WithTimeout(r.Context(), pollTime)
	defer cancel()

	// A task that is given at the last moment is in the answer.
	answer := httptest.NewRecorder()
	next.ServeHTTP(answer, r.WithContext(ctx))

	if answer.Code == http.StatusServiceUnavailable && ctx.Err() != nil {
		answer = httptest.NewRecorder()
		answer.Header().Set("Content-Type", "application/x-amz-json-1.0")
		_, _ = answer.WriteString(`{"taskToken":null}`)
	}

	maps.Copy(w.Header(), answer.Header())
	w.WriteHeader(answer.Code)
	_, _ = w.Write(answer.Body.Bytes())
}

func pollForMessages(w http.ResponseWriter, r *http.Request, next http.Handler) {
	var members map[string]any

	err := json.NewDecoder(r.Body).Decode(&members)
	if err == nil {
		members["WaitTimeSeconds"] = pollTime.Seconds()

		var body []byte
		body, err = json.Marshal(members)
		r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	}

	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}

	next.ServeHTTP(w, r)
}
