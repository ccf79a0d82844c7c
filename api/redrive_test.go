package api_test

import (
	"context"
	"net/http"
	"ratchet/streams/retryqueue"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/api"
	"ratchet/api/auth"
	"ratchet/internal/dynamo"
	"ratchet/streams"
	"ratchet/streams/replay"
)

func TestDeadLettersAreRedrivenByThePage(t *testing.T) {
	handler := streams.Handler{Name: "notify", Handle: refuses}
	s := newAPIServer(t, func(c *api.Config) { c.Handlers = []streams.Handler{handler} })
	acme, other := s.key("acme", auth.Admin), s.key("other", auth.Admin)

	for _, id := range []string{"o-1", "o-2", "o-3"} {
		s.want(s.ask("PUT", "/v1/orders/"+id, mugs, "Authorization", acme), http.StatusCreated, "")
	}
	s.want(s.ask("PUT", "/v1/orders/o-4", mugs, "Authorization", other), http.StatusCreated, "")
	s.createDeadLetters(handler, 4)

	type page struct {
		Letters []struct{ ID, OrderID, Result string }
		Next    string
	}
	redrive := func(query, body string) (p page) {
		t.Helper()
		s.want(s.ask("POST", "/v1/dead-letters/notify/redrive"+query, body, "Authorization", acme), http.StatusOK, "").read(t, &p)

		return p
	}
	results := func(p page) string {
		var out []string
		for _, l := range p.Letters {
			out = append(out, l.OrderID+" "+l.Result)
		}

		return strings.Join(out, ", ")
	}

	if p := redrive("", `{"error":"something else"}`); len(p.Letters) != 0 || p.Next != "" {
		t.Errorf("by another error: %+v", p)
	}

	if p := redrive("", `{"since":"2100-01-01T00:00:00Z"}`); len(p.Letters) != 0 {
		t.Errorf("of a later time: %+v", p)
	}

	if p := redrive("", `{"dryRun":true,"error":"refuses"}`); strings.Count(results(p), "selected") != 3 {
		t.Errorf("dry run: %s", results(p))
	}

	// Page by page, until there is no next one.
	queued, query := 0, "?limit=2"
	for pages := 0; ; pages++ {
		p := redrive(query, `{"since":"2020-01-01T00:00:00Z"}`)
		queued += strings.Count(results(p), "queued")

		if len(p.Letters) > 2 || strings.Contains(results(p), "o-4") {
			t.Fatalf("page %d: %s", pages, results(p))
		}

		if p.Next == "" {
			break
		}
		query = "?limit=2&cursor=" + p.Next
	}

	if queued != 3 {
		t.Errorf("%d were queued", queued)
	}

	for _, body := range []string{`{}`, `{"dryRun":true}`} {
		if p := redrive("", body); strings.Count(results(p), "waiting") != 3 {
			t.Errorf("again with %s: %s", body, results(p))
		}
	}
	s.want(s.ask("POST", "/v1/dead-letters/nobody/redrive", `{}`, "Authorization", acme), http.StatusNotFound, "handler_not_found")
	s.want(s.ask("POST", "/v1/dead-letters/notify/redrive", `{"since":"yesterday"}`, "Authorization", acme), http.StatusUnprocessableEntity, "invalid_request")
}

// TestDeadLettersAreListedByOrder, of the caller's tenant, page by page.
func TestDeadLettersAreListedByOrder(t *testing.T) {
	handler := streams.Handler{Name: "notify", Handle: refuses}
	s := newAPIServer(t, func(c *api.Config) { c.Handlers = []streams.Handler{handler} })
	acme, other := s.key("acme", auth.Admin), s.key("other", auth.Admin)

	for _, id := range []string{"o-1", "o-2", "o-3"} {
		s.want(s.ask("PUT", "/v1/orders/"+id, mugs, "Authorization", acme), http.StatusCreated, "")
	}
	s.want(s.ask("PUT", "/v1/orders/o-2", mugs, "Authorization", other), http.StatusCreated, "")
	s.createDeadLetters(handler, 4)

	for _, row := range []struct{ order, key, want string }{
		{"o-2", acme, "o-2"}, {"o-2", other, "o-2"}, {"o-1", other, ""}, {"acme:o-2", acme, ""}, {"none", acme, ""},
	} {
		var got []string
		for cursor := ""; ; {
			var page struct {
				Letters []struct{ OrderID string }
				Next    string
			}
			s.want(s.ask("GET", "/v1/dead-letters/notify?limit=1&order="+row.order+cursor, "", "Authorization", row.key), http.StatusOK, "").read(t, &page)

			for _, l := range page.Letters {
				got = append(got, l.OrderID)
			}

			if page.Next == "" {
				break
			}
			cursor = "&cursor=" + page.Next
		}

		if text := strings.Join(got, " "); text != row.want {
			t.Errorf("of order %s: %q, want %q", row.order, text, row.want)
		}
	}

	// A cursor belongs to its order.
	next := s.want(s.ask("GET", "/v1/dead-letters/notify?limit=1", "", "Authorization", acme), http.StatusOK, "").field("next")
	s.want(s.ask("GET", "/v1/dead-letters/notify?order=o-2&cursor="+next, "", "Authorization", acme), http.StatusBadRequest, "invalid_cursor")
}

// replay replays an order as the server does. Each has two changes, and has lost older ones.
func (s *apiServer) replay(ctx context.Context, r api.Replay) (replay.RebuildCount, error) {
	return replay.Rebuild{
		Queue:    s.cfg.RetryQueue,
		DynamoDB: s.db,
		Name:     "replay",
		Handlers: r.Handlers,
		Expand: func(_ context.Context, item map[string]types.AttributeValue) ([]replay.Version, bool, error) {
			return []replay.Version{{Number: 1, New: item}, {Number: 2, Old: item, New: item}}, true, nil
		},
		Again:  r.Again,
		Repeat: true,
		Keys:   map[string]types.AttributeValue{"orderId": dynamo.S(string(r.Order))},
		DryRun: r.DryRun,
	}.Run(ctx)
}

func TestAnOrderIsReplayedToItsHandlers(t *testing.T) {
	s := newAPIServer(t, func(c *api.Config) { c.Handlers = []streams.Handler{{Name: "notify"}, {Name: "journal"}} })
	acme, other := s.key("acme", auth.Admin), s.key("other", auth.Admin)
	s.want(s.ask("PUT", "/v1/orders/o-1", mugs, "Authorization", acme), http.StatusCreated, "")

	for _, test := range []struct {
		body          string
		queued, items string // items: with a record in the queue of notify, of journal
	}{
		{`{"dryRun":true}`, "4", "0 0"},
		{`{"handler":"notify","again":true}`, "2", "1 0"},
		{`{}`, "4", "1 1"},
	} {
		a := s.want(s.ask("POST", "/v1/orders/o-1/replay", test.body, "Authorization", acme), http.StatusOK, "")
		if a.field("changes") != "2" || a.field("queued") != test.queued || a.field("lost") != "true" {
			t.Errorf("%s: %s", test.body, a.text)
		}

		if got := s.waitingItems("notify") + " " + s.waitingItems("journal"); got != test.items {
			t.Errorf("%s: %s items wait, want %s", test.body, got, test.items)
		}
	}
	s.want(s.ask("POST", "/v1/orders/o-1/replay", `{}`, "Authorization", other), http.StatusNotFound, "order_not_found")
	s.want(s.ask("POST", "/v1/orders/o-1/replay", `{"handler":"nobody"}`, "Authorization", acme), http.StatusNotFound, "handler_not_found")
	s.want(s.ask("POST", "/v1/orders/o-1/replay", `{"handler":"no body"}`, "Authorization", acme), http.StatusUnprocessableEntity, "invalid_request")
}

// waitingItems returns how many items wait in the retry queue of a handler.
func (s *apiServer) waitingItems(handler string) string {
	s.t.Helper()

	items, err := retryqueue.Items(context.Background(), s.cfg.DeadLetters, "orders", handler)
	if err != nil {
		s.t.Fatal(err)
	}

	return strconv.Itoa(len(items))
}

func TestWithoutAStreamNothingIsReplayed(t *testing.T) {
	s := newAPIServer(t, func(c *api.Config) { dev(c); c.Replay = nil })
	s.must("PUT", "/v1/orders/o-1", mugs)
	s.want(s.ask("POST", "/v1/orders/o-1/replay", `{}`), http.StatusNotFound, "stream_not_found")
}

// TestALetterThatWasQueuedLongAgoIsQueuedAgain: its entry may be lost, so the answer says that it
// waits only while the queue refuses it.
func TestALetterThatWasQueuedLongAgoIsQueuedAgain(t *testing.T) {
	handler := streams.Handler{Name: "notify", Handle: refuses}
	s := newAPIServer(t, func(c *api.Config) { dev(c); c.Handlers = []streams.Handler{handler} })
	s.must("PUT", "/v1/orders/o-1", mugs)
	s.createDeadLetters(handler, 1)

	letters, _, err := s.cfg.DeadLetters.List(t.Context(), "notify", "", 10)
	if err != nil || len(letters) != 1 {
		t.Fatal(letters, err)
	}

	longAgo := dynamo.NewUpdate("letters", dynamo.Item{"source": dynamo.S("streams/notify"), "id": dynamo.S(letters[0].ID)}).
		IfPresent("id").
		SetValue("queuedAt", dynamo.Millis(time.Now().Add(-2*time.Hour)))
	if _, err := s.db.UpdateItem(t.Context(), longAgo.Input()); err != nil {
		t.Fatal(err)
	}

	a := s.want(s.ask("POST", "/v1/dead-letters/notify/redrive", `{}`), http.StatusOK, "")
	if !strings.Contains(a.text, `"result":"queued"`) || s.waitingItems("notify") != "1" {
		t.Errorf("%s items wait: %s", s.waitingItems("notify"), a.text)
	}
}
