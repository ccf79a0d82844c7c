package api_test

import (
	"context"
	"encoding/base64"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"

	"ratchet/activities/tasktoken"
	"ratchet/api"
	"ratchet/api/auth"
	"ratchet/embedded/embeddedtest"
	"ratchet/streams"
	"ratchet/streams/poller"
	"ratchet/streams/status"
	"ratchet/transitions"
)

func refuses(context.Context, streams.Record) error {
	return streams.Permanent(errors.New("the far side refuses"))
}

// createDeadLetters runs a poller until the handler has failed for the given number of
// records.
//
//raced:in TestDeadLettersAreListedByOrder
func (s *apiServer) createDeadLetters(handler streams.Handler, want int) {
	s.t.Helper()
	done := make(chan struct{}, 100)
	counted := handler
	inner := handler.Handle
	counted.Handle = func(ctx context.Context, r streams.Record) error {
		err := inner(ctx, r)
		done <- struct{}{}
		return err
	}

	poller, err := poller.New(poller.Config{
		Streams:         dynamodbstreams.NewFromConfig(s.engine.AWSConfig()),
		DynamoDB:        s.db,
		TableName:       "orders",
		LeaseTable:      "leases",
		DeadLetterTable: "letters",
		Owner:           "test",
		Handlers:        []streams.Handler{counted},
		Log:             embeddedtest.Quiet(),
	})
	if err != nil {
		s.t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- poller.Run(ctx) }()

	for range want {
		<-done
	}
	stop()

	if err := <-ended; err != nil {
		s.t.Fatal(err)
	}
}

func TestOnlyItsTenantListsAndRedrivesADeadLetter(t *testing.T) {
	handler := streams.Handler{Name: "notify", Handle: refuses}
	s := newAPIServer(t, func(c *api.Config) { c.Handlers = []streams.Handler{handler} })
	acme, other := s.key("acme", auth.Admin), s.key("other", auth.Admin)
	s.want(s.ask("PUT", "/v1/orders/o-1", mugs, "Authorization", acme), http.StatusCreated, "")
	s.want(s.ask("PUT", "/v1/orders/o-2", mugs, "Authorization", other), http.StatusCreated, "")
	s.createDeadLetters(handler, 2)

	a := s.want(s.ask("GET", "/v1/dead-letters/notify", "", "Authorization", acme), http.StatusOK, "")
	var page struct {
		Letters []struct{ ID, OrderID, Error string }
	}
	a.read(t, &page)

	if len(page.Letters) != 1 || page.Letters[0].OrderID != "o-1" || !strings.Contains(page.Letters[0].Error, "refuses") {
		t.Fatalf("%s", a.text)
	}

	if all := s.want(s.ask("GET", "/v1/dead-letters", "", "Authorization", acme), http.StatusOK, ""); all.field("letters") != a.field("letters") {
		t.Errorf("of all handlers: %s, want %s", all.text, a.text)
	}

	letter := "/v1/dead-letters/notify/" + page.Letters[0].ID
	if one := s.want(s.ask("GET", letter, "", "Authorization", acme), http.StatusOK, ""); !strings.Contains(one.text, `"new":{`) || one.field("change") != "INSERT" {
		t.Errorf("with its images: %s", one.text)
	}

	ungranted := s.keyOf(auth.NewKey{Tenant: "acme", Scope: auth.Admin})
	if one := s.want(s.ask("GET", letter, "", "Authorization", ungranted), http.StatusOK, ""); strings.Contains(one.text, `"new"`) || strings.Contains(one.text, "refuses") {
		t.Errorf("without the grant: %s", one.text)
	}
	s.want(s.ask("GET", letter, "", "Authorization", other), http.StatusNotFound, "dead_letter_not_found")

	redrive := "/v1/dead-letters/notify/" + page.Letters[0].ID + "/redrive"
	s.want(s.ask("POST", redrive, "", "Authorization", other), http.StatusNotFound, "dead_letter_not_found")
	s.want(s.ask("POST", redrive, "", "Authorization", acme), http.StatusOK, "")
	s.want(s.ask("POST", redrive, "", "Authorization", acme), http.StatusConflict, "redriving")

	discard := strings.TrimSuffix(redrive, "redrive") + "discard"
	s.want(s.ask("POST", discard, "", "Authorization", other), http.StatusNotFound, "dead_letter_not_found")
	s.want(s.ask("POST", discard, "", "Authorization", acme), http.StatusOK, "")
	s.want(s.ask("POST", redrive, "", "Authorization", acme), http.StatusNotFound, "dead_letter_not_found")
	s.want(s.ask("POST", discard, "", "Authorization", acme), http.StatusNotFound, "dead_letter_not_found")

	if a := s.want(s.ask("GET", "/v1/dead-letters/notify", "", "Authorization", acme), http.StatusOK, ""); a.field("letters") != "[]" {
		t.Errorf("%s", a.text)
	}
	s.want(s.ask("GET", "/v1/dead-letters/nobody", "", "Authorization", acme), http.StatusNotFound, "handler_not_found")

	for _, id := range []string{"x", base64.RawURLEncoding.EncodeToString([]byte("a#1")), strings.Repeat("A", 1024)} {
		s.want(s.ask("POST", "/v1/dead-letters/notify/"+id+"/redrive", "", "Authorization", acme), http.StatusNotFound, "dead_letter_not_found")
	}
}

func TestAParkedTaskIsShownWithoutItsToken(t *testing.T) {
	s := newAPIServer(t, dev)
	placed(s)
	s.park(tasktoken.Task{OrderID: "o-1", Awaited: "SHIPPED", Since: 2, Token: "the-token"})

	if a := s.want(s.ask("GET", "/v1/orders/o-1/parked-tasks", ""), http.StatusOK, ""); a.field("tasks") != `[{"awaited":"SHIPPED","since":2}]` {
		t.Errorf("%s", a.text)
	}
	s.want(s.ask("DELETE", "/v1/orders/o-1/parked-tasks/DELIVERED", ""), http.StatusNotFound, "parked_task_not_found")
	s.want(s.ask("DELETE", "/v1/orders/o-1/parked-tasks/SHIPPED", ""), http.StatusOK, "") // the task has already ended: only its record is deleted

	if a := s.want(s.ask("GET", "/v1/orders/o-1/parked-tasks", ""), http.StatusOK, ""); a.field("tasks") != "[]" {
		t.Errorf("%s", a.text)
	}
}

// The readiness probe fails until a line can be written again.
func TestReadinessReportsABrokenAuditLog(t *testing.T) {
	sink := &brokenSink{}
	s := newAPIServer(t, func(c *api.Config) { dev(c); c.Audit = sink })
	sink.err = errors.New("disk full")
	s.want(s.ask("PUT", "/v1/orders/o-1", mugs), http.StatusCreated, "")
	s.want(s.ask("GET", "/readyz", ""), http.StatusServiceUnavailable, "not_ready")
	sink.err = nil
	s.want(s.ask("PUT", "/v1/orders/o-2", mugs), http.StatusCreated, "")
	s.want(s.ask("GET", "/readyz", ""), http.StatusOK, "")
}

// The first request creates the order but fails to start its execution.
func TestARepeatStartsTheExecutionAfterAFailedStart(t *testing.T) {
	var started []transitions.OrderID
	failing := true
	s := newAPIServer(t, func(c *api.Config) {
		dev(c)
		c.Start = func(_ context.Context, n transitions.NewOrder) error {
			started = append(started, n.ID)

			if failing {
				return transitions.ErrUnavailable
			}

			return nil
		}
	})
	s.want(s.ask("PUT", "/v1/orders/o-1", mugs), http.StatusServiceUnavailable, "unavailable")
	failing = false
	s.want(s.ask("PUT", "/v1/orders/o-1", mugs), http.StatusCreated, "")
	s.want(s.ask("PUT", "/v1/orders/o-2", strings.TrimSuffix(mugs, "}")+`,"execution":"none"}`), http.StatusCreated, "")

	if len(started) != 2 || started[1] != "o-1" {
		t.Errorf("started executions: %v", started)
	}
}

func TestAnAdministratorSeesHowFarTheStreamIsHandled(t *testing.T) {
	var s *apiServer
	s = newAPIServer(t, func(c *api.Config) {
		c.Stream = func(ctx context.Context) (status.Status, error) {
			return status.Inspector{
				Streams:  dynamodbstreams.NewFromConfig(s.engine.AWSConfig()),
				Queue:    s.cfg.RetryQueue,
				Handlers: []string{"notify"},
			}.Status(ctx)
		}
	})
	admin, act := s.key("acme", auth.Admin), s.key("acme", auth.Act)
	s.want(s.ask("PUT", "/v1/orders/o-1", mugs, "Authorization", act), http.StatusCreated, "")
	s.want(s.ask("GET", "/v1/stream", "", "Authorization", act), http.StatusForbidden, "forbidden")

	a := s.want(s.ask("GET", "/v1/stream", "", "Authorization", admin), http.StatusOK, "")
	if a.field("state") != "on" || !strings.Contains(a.field("problems"), "no worker reads this") || !strings.Contains(a.field("shards"), `"records":1`) {
		t.Errorf("%s", a.text)
	}

	if got := a.field("handlers"); !strings.Contains(got, `"deadLetters":0`) || !strings.Contains(got, `"notify"`) {
		t.Errorf("handlers %s", got)
	}
}

func TestWithoutAStreamThereIsNoStatus(t *testing.T) {
	s := newAPIServer(t, dev)
	s.want(s.ask("GET", "/v1/stream", ""), http.StatusNotFound, "stream_not_found")
}
