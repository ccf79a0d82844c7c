package api_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"ratchet/api/auth"
	"ratchet/console"
)

// orderWithExecution answers as the API does about one order, whose execution goes through three states.
type orderWithExecution struct {
	mu     sync.Mutex
	id     int64  // of the order's newest transition
	status string // of the execution
	events []map[string]any
	asked  int  // for the history
	quota  bool // is used up
}

const pictureWorkflow = `{"name":"order","version":1,"place":"place","initial":"NEW","states":[{"state":"NEW"},{"state":"PAID"},{"state":"SENT","terminal":true}],
	"transitions":[{"event":"pay","from":["NEW"],"to":"PAID","if":[]},{"event":"send","from":["PAID"],"to":"SENT","if":[]}],
	"machine":{"startAt":"Accept","states":[
		{"name":"Accept","type":"Task","creates":true,"next":["Pay"],"events":[],"orders":["?"]},
		{"name":"Pay","type":"Task","next":["Wait"],"events":["pay"],"orders":["NEW"]},
		{"name":"Wait","type":"Task","next":[],"events":[],"orders":["PAID"],"awaits":"SENT"}]}}`

func (o *orderWithExecution) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	o.mu.Lock()
	defer o.mu.Unlock()

	w.Header().Set("Content-Type", "application/json")

	answer := func(text string, args ...any) { _, _ = fmt.Fprintf(w, text, args...) }
	order := fmt.Sprintf(`{"orderId":"o-1","state":"PAID","definitionVersion":1,"transitionId":%d}`, o.id)

	switch path := r.URL.Path; {
	case path == "/v1/workflow":
		answer(pictureWorkflow)
	case path == "/v1/orders/o-1/scheduled":
		answer(`{"scheduled":[]}`)
	case path == "/v1/orders/o-1":
		answer("%s", order)
	case path == "/v1/orders/o-1/explanation":
		answer(`{"order":%s,"steps":[{"event":"place","to":"NEW"},{"event":"pay","from":"NEW","to":"PAID"}],"options":[],"timeline":[
			{"at":"2026-11-29T12:00:00Z","kind":"execution","what":"x","ref":{"execution":"o-1","status":"STARTED"}},
			{"at":"2026-11-29T12:00:01Z","kind":"execution","what":"x","ref":{"execution":"o-1","status":%q}}]}`, order, o.status)
	case path == "/v1/executions/o-1" && o.quota:
		w.WriteHeader(http.StatusTooManyRequests)
		answer(`{"status":429,"code":"rate_limited","detail":"Step Functions has a quota."}`)
	case path == "/v1/executions/o-1":
		o.asked++

		events, _ := json.Marshal(o.events)
		answer(`{"execution":{"name":"o-1","status":%q},"events":%s}`, o.status, events)
	default:
		w.WriteHeader(http.StatusNotFound)
		answer(`{"status":404,"code":"not_found"}`)
	}
}

func (o *orderWithExecution) change(do func()) {
	o.mu.Lock()
	defer o.mu.Unlock()

	do()
}

// history is the beginning of an execution: Pay was tried twice.
func history(last string) (newestFirst []map[string]any) {
	all := strings.Fields("ExecutionStarted TaskStateEntered:Accept ActivityScheduled ActivitySucceeded TaskStateExited:Accept " +
		"TaskStateEntered:Pay ActivityScheduled ActivityFailed!Bank.Timeout ActivityScheduled " + last)

	for i, text := range all {
		text, failed, _ := strings.Cut(text, "!")
		kind, state, _ := strings.Cut(text, ":")
		newestFirst = append([]map[string]any{{"id": i + 1, "type": kind, "state": state, "error": failed, "at": "2026-11-29T12:00:00Z"}}, newestFirst...)
	}

	return newestFirst
}

const paid = "ActivitySucceeded TaskStateExited:Pay TaskStateEntered:Wait TaskScheduled"

// TestThePictureOfAnOrderShowsItsExecution: below the states of the order, the state machine with the way numbered, and where it is now.
// Each move that it makes names the state that makes it.
func TestThePictureOfAnOrderShowsItsExecution(t *testing.T) {
	for name, row := range map[string]struct {
		status, last string
		quota        bool
		want, lacks  []string
	}{
		"waits": {"RUNNING", paid, false, []string{
			`<g class="node been" id="node-5" data-node="Step Functions/Accept">`,
			`<g class="node been retried" id="node-6" data-node="Step Functions/Pay">`,
			`<g class="node end been present" data-node="Step Functions/Wait">`,
			`<g class="node end awaited" data-node="SENT">`, `<g class="node present" data-node="PAID">`,
			`data-number="Step Functions/Wait" textLength="6.6" lengthAdjust="spacingAndGlyphs">3</text>`,
			`<a href="#node-6"><text`, `>by Pay</text>`, `>by Accept</text>`, `2 attempts, error Bank.Timeout</title>`,
			`is in  <b>Wait</b>`, `, and waits for <span class="state ">SENT</span>`,
		}, []string{`>by Wait<`}},
		"is tried again": {"RUNNING", "", false, []string{`<g class="node been retried present" id="node-6"`, `is in  <b>Pay</b>`, `; attempt 2`, `; newest error: Bank.Timeout`}, []string{"awaited"}},
		"has failed":     {"FAILED", "ActivityFailed!Card", false, []string{`<g class="node been retried failed" id="node-6"`, `was in  <b>Pay</b>`}, []string{"been present"}},
		"has ended":      {"SUCCEEDED", paid + " TaskStateExited:Wait", false, []string{`<g class="node end been" data-node="Step Functions/Wait">`}, []string{"awaited", "been present"}},
		"no quota":       {"RUNNING", paid, true, []string{"Where the execution is was not read now. Step Functions has a quota.", `data-node="Step Functions/Wait"`}, []string{"been present"}},
	} {
		t.Run(name, func(t *testing.T) {
			o := &orderWithExecution{id: 2, status: row.status, events: history(row.last), quota: row.quota}
			draining := make(chan struct{})
			defer close(draining)

			text := lookAt(t, newPages(t, o, draining), "/orders/o-1")

			for _, want := range row.want {
				if !strings.Contains(text, want) {
					t.Errorf("the page lacks %s", want)
				}
			}

			for _, lacks := range row.lacks {
				if strings.Contains(text, lacks) {
					t.Errorf("the page has %s", lacks)
				}
			}

		})
	}
}

func lookAt(t *testing.T, pages http.Handler, path string) string {
	t.Helper()

	w := httptest.NewRecorder()
	ctx := context.WithValue(t.Context(), viewerKey{}, whose(auth.DefaultTenant, auth.Admin))
	pages.ServeHTTP(w, httptest.NewRequestWithContext(ctx, http.MethodGet, "http://localhost"+console.Path+path, nil))

	return w.Body.String()
}

// TestStepFunctionsIsAskedOncePerChange: when a person looks, and once after each change of an order that is followed. An execution that
// has ended is remembered.
func TestStepFunctionsIsAskedOncePerChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		draining := make(chan struct{})
		o := &orderWithExecution{id: 1, status: "RUNNING", events: history("")}
		pages := newPages(t, o, draining)
		asked := func(want int, when string) {
			t.Helper()

			if o.mu.Lock(); o.asked != want {
				t.Errorf("%s, Step Functions was asked %d times, want %d", when, o.asked, want)
			}
			o.mu.Unlock()
		}
		lookAt(t, pages, "/orders/o-1")
		asked(1, "when the page is opened")

		ctx, stop := context.WithCancel(context.WithValue(t.Context(), viewerKey{}, whose(auth.DefaultTenant, auth.Admin)))
		for range 10 {
			go pages.ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(ctx, http.MethodGet, "http://localhost/console/live/orders/o-1", nil))
		}
		time.Sleep(5 * time.Minute)
		asked(2, "when it has settled, and is followed for five minutes")

		o.change(func() { o.id, o.events = 2, history(paid) })
		time.Sleep(5 * time.Minute)
		asked(3, "after a change")

		o.change(func() { o.id, o.status, o.events = 3, "SUCCEEDED", history(paid+" TaskStateExited:Wait") })
		time.Sleep(5 * time.Minute)
		asked(4, "after its end")

		for range 3 {
			lookAt(t, pages, "/orders/o-1")
		}
		asked(4, "when an execution that has ended is looked at again")

		stop()
		close(draining)
		synctest.Wait()
	})
}
