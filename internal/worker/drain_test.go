package worker_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"ratchet/internal/worker"
)

// never stands for the time of something that does not happen.
const never = -1

func TestDrainPhases(t *testing.T) {
	for _, row := range []struct {
		name string
		// Seconds from the stop: when the last poll and the last handler end by
		// themselves, and how long each takes once it is canceled.
		pollsEnd, handlersEnd           time.Duration
		pollsCanceled, handlersCanceled time.Duration
		pollGrace                       time.Duration
		abort                           time.Duration // 0: not
		want                            string
	}{
		{
			name:     "an idle runtime stops at once",
			pollsEnd: 0, handlersEnd: 0, pollGrace: 20,
			want: "drained after 0s",
		},
		{
			name:     "handlers finish within the timeout",
			pollsEnd: 1, handlersEnd: 7, pollGrace: 20,
			want: "drained after 7s",
		},
		{
			name:     "polls that stay open are canceled after their grace",
			pollsEnd: never, handlersEnd: 3, pollGrace: 5,
			want: "polls canceled at 5s; drained after 5s",
		},
		{
			name:     "without a grace polls are canceled at once",
			pollsEnd: never, handlersEnd: 0, pollGrace: never,
			want: "polls canceled at 0s; drained after 0s",
		},
		{
			name:     "handlers that run too long are canceled, and return",
			pollsEnd: 1, handlersEnd: never, handlersCanceled: 2, pollGrace: 20,
			want: "handlers canceled at 10s; drained after 12s",
		},
		{
			name:     "handlers that ignore the end of their contexts are stuck",
			pollsEnd: 1, handlersEnd: never, handlersCanceled: never, pollGrace: 20,
			want: "handlers canceled at 10s; stuck after 14s",
		},
		{
			name:     "polls that outlast the timeout do not keep handlers from being canceled",
			pollsEnd: never, handlersEnd: never, handlersCanceled: never, pollGrace: 15,
			want: "handlers canceled at 10s; polls canceled at 15s; handlers canceled at 15s; stuck after 19s",
		},
		{
			name:     "an abort cancels open polls and handlers and waits for neither",
			pollsEnd: never, handlersEnd: never, handlersCanceled: never, pollGrace: 20, abort: 2,
			want: "polls canceled at 2s; handlers canceled at 2s; handlers canceled at 2s; stuck after 2s",
		},
		{
			name:     "an abort while handlers run cancels them",
			pollsEnd: 1, handlersEnd: never, handlersCanceled: never, pollGrace: 20, abort: 2,
			want: "handlers canceled at 2s; stuck after 2s",
		},
		{
			name:     "an abort after the handlers were canceled ends the wait",
			pollsEnd: 1, handlersEnd: never, handlersCanceled: never, pollGrace: 20, abort: 11,
			want: "handlers canceled at 10s; stuck after 11s",
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				errPoll := errors.New("a poller's error")
				polled, idle := make(chan error, 1), make(chan struct{})

				endPolls := func() { polled <- errPoll }
				after(row.pollsEnd, endPolls)
				after(row.handlersEnd, func() { close(idle) })

				var log []string
				note := func(what string) { log = append(log, fmt.Sprint(what, time.Since(began))) }

				abort := make(chan struct{})
				if row.abort > 0 {
					after(row.abort, func() { close(abort) })
				}
				drain := worker.Drain{
					Abort:     abort,
					PollGrace: row.pollGrace * time.Second, Timeout: 10 * time.Second, Grace: 4 * time.Second,
					CancelPolls: func() {
						note("polls canceled at ")
						after(row.pollsCanceled, endPolls)
					},
					CancelHandlers: func() {
						note("handlers canceled at ")
						after(row.handlersCanceled, func() { close(idle) })
					},
				}

				drained, err := drain.Run(polled, func() <-chan struct{} { return idle })
				if drained {
					note("drained after ")
				} else {
					note("stuck after ")
				}

				if got := strings.Join(log, "; "); got != row.want {
					t.Errorf("got  %s\nwant %s", got, row.want)
				}

				if !errors.Is(err, errPoll) {
					t.Errorf("got error %v, want that of the pollers", err)
				}
			})
		})
	}
}

// after calls f after so many seconds; with never, it does not.
func after(seconds time.Duration, f func()) {
	if seconds != never {
		time.AfterFunc(seconds*time.Second, f)
	}
}
