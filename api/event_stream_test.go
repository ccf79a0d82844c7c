package api_test

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ratchet/api"
	"ratchet/api/auth"
	"ratchet/embedded/embeddedtest"
	"ratchet/internal/dynamo"
	"ratchet/tests/shop"
	"ratchet/transitions"
	"ratchet/workflow"
)

// following is an event stream that a test reads while it is written.
type following struct {
	header http.Header
	ended  chan struct{}

	mu   sync.Mutex
	text bytes.Buffer
}

func (f *following) Header() http.Header { return f.header }
func (f *following) WriteHeader(int)     {}
func (f *following) Flush()              {}

func (f *following) Write(b []byte) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()

	return f.text.Write(b)
}

// events returns what has arrived: the ids of transitions, and the names and data of other
// events.
func (f *following) events() string {
	f.mu.Lock()
	defer f.mu.Unlock()

	var out []string
	for event := range strings.SplitSeq(f.text.String(), "\n\n") {
		fields := map[string]string{}
		for line := range strings.SplitSeq(event, "\n") {
			name, value, _ := strings.Cut(line, ": ")
			fields[name] = value
		}

		switch name := fields["event"]; name {
		case "":
		case "transition":
			out = append(out, fields["id"])
		default:
			out = append(out, name+fields["data"])
		}
	}

	return strings.Join(out, " ")
}

// over reports whether the stream has ended.
func (f *following) over() bool {
	select {
	case <-f.ended:
		return true
	default:
		return false
	}
}

// follow opens the event stream of order o-1. It ends with the test.
func (s *apiServer) follow(t *testing.T, headers ...string) *following {
	t.Helper()

	ctx, cancel := context.WithCancel(t.Context())

	r := httptest.NewRequest(http.MethodGet, "http://localhost/v1/orders/o-1/events", nil).WithContext(ctx)
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}

	f := &following{header: http.Header{}, ended: make(chan struct{})}
	go func() {
		defer close(f.ended)
		s.handler.ServeHTTP(f, r)
	}()
	t.Cleanup(func() { cancel(); <-f.ended })
	synctest.Wait()

	return f
}

// byStream makes the server's orders write no journal, as a server does whose journal is
// written by the reader of the stream.
func (s *apiServer) byStream(t *testing.T) {
	t.Helper()
	s.cfg.Orders = s.kit.Orders(shop.WithoutRequests)

	var err error
	if s.handler, err = api.New(s.cfg); err != nil {
		t.Fatal(err)
	}
}

// swing puts the order on hold and releases it, up to the id, with given ids. It returns
// the changes as the reader of the stream sees them.
func (s *apiServer) swing(t *testing.T, from, to int) []transitions.Change {
	t.Helper()

	old, _, err := s.cfg.Orders.Get(t.Context(), "o-1")
	if err != nil {
		t.Fatal(err)
	}

	var changes []transitions.Change
	for id := from; id <= to; id++ {
		r, err := s.cfg.Orders.Apply(t.Context(), transitions.Request{
			OrderID:      "o-1",
			Event:        []workflow.Event{workflow.Hold, workflow.Release}[id%2],
			TransitionID: transitions.TransitionID(id),
		})
		if err != nil || r.Verdict != transitions.Applied {
			t.Fatalf("transition %d: %s, %v", id, r.Verdict, err)
		}
		changes = append(changes, transitions.Change{Old: old, New: r.Order, Transition: r.Transition})
		old = r.Order
	}

	return changes
}

func (s *apiServer) record(t *testing.T, changes []transitions.Change) {
	t.Helper()

	for _, c := range changes {
		if err := s.cfg.Orders.Record(t.Context(), c); err != nil {
			t.Fatal(err)
		}
	}
}

func ids(from, to int) string {
	var out []string
	for id := from; id <= to; id++ {
		out = append(out, fmt.Sprint(id))
	}

	return strings.Join(out, " ")
}

func TestAnEventStreamMissesNothing(t *testing.T) {
	for _, row := range []struct {
		about    string
		byStream bool // else each transition writes its row
		connect  string
		apply    func(t *testing.T, s *apiServer)
		want     string
	}{
		{
			about:   "20 transitions between two reads, journal in the transaction",
			apply:   func(t *testing.T, s *apiServer) { s.swing(t, 2, 21) },
			connect: "",
			want:    ids(1, 21),
		},
		{
			about:    "20 transitions between two reads, the stream's reader keeps up",
			byStream: true,
			apply:    func(t *testing.T, s *apiServer) { s.record(t, s.swing(t, 2, 21)) },
			want:     ids(1, 21),
		},
		{
			about:    "the stream's reader is 5 s behind",
			byStream: true,
			apply: func(t *testing.T, s *apiServer) {
				changes := s.swing(t, 2, 21)
				time.Sleep(5 * time.Second)
				s.record(t, changes)
			},
			want: ids(1, 21),
		},
		{
			about:    "the stream's reader writes a part, and the rest later",
			byStream: true,
			apply: func(t *testing.T, s *apiServer) {
				changes := s.swing(t, 2, 21)
				s.record(t, changes[:3])
				time.Sleep(5 * time.Second)
				s.record(t, changes[3:])
			},
			want: ids(1, 21),
		},
		{
			about:    "the stream's reader does not run: the stream says what is missing",
			byStream: true,
			apply:    func(t *testing.T, s *apiServer) { s.swing(t, 2, 21) },
			want:     `1 gap{"after":1,"before":14} ` + ids(14, 21),
		},
	} {
		t.Run(row.about, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newAPIServer(t, dev)
				if row.byStream {
					s.byStream(t)
				}

				s.want(s.ask("PUT", "/v1/orders/o-1", mugs), http.StatusCreated, "")
				f := s.follow(t)
				row.apply(t, s)
				time.Sleep(20 * time.Second)
				synctest.Wait()

				if got := f.events(); got != row.want {
					t.Errorf("events %s\nwant   %s", got, row.want)
				}

				// Another client comes back after the first transition.
				back := s.follow(t, "Last-Event-ID", "1")
				time.Sleep(20 * time.Second)
				synctest.Wait()

				if got, want := back.events(), strings.TrimPrefix(row.want, "1 "); got != want {
					t.Errorf("after a reconnection: events %s\nwant %s", got, want)
				}
			})
		})
	}
}

// More than one page of the journal and more than any ring.
func TestAReconnectedStreamReadsTheWholeJournal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newAPIServer(t, dev)
		s.want(s.ask("PUT", "/v1/orders/o-1", mugs), http.StatusCreated, "")
		s.swing(t, 2, 1200)

		f := s.follow(t, "Last-Event-ID", "7")
		time.Sleep(5 * time.Second)
		synctest.Wait()

		if got := f.events(); got != ids(8, 1200) {
			t.Errorf("%d events, want 1193: %.200s", strings.Count(got, " ")+1, got)
		}
	})
}

func TestTheEndOfACredentialEndsItsEventStreams(t *testing.T) {
	for _, row := range []struct {
		about string
		key   auth.NewKey
		end   func(*testing.T, *apiServer, auth.Key)
		open  bool // the stream goes on
	}{
		{
			about: "revoked",
			end: func(t *testing.T, s *apiServer, key auth.Key) {
				if err := s.keys.Revoke(t.Context(), key.ID); err != nil {
					t.Fatal(err)
				}
			},
		},
		{
			about: "expired",
			key:   auth.NewKey{Expires: time.Date(2000, 1, 1, 0, 0, 31, 0, time.UTC)}, // time begins at 2000 in synctest
			end:   func(*testing.T, *apiServer, auth.Key) {},
		},
		{
			about: "cannot be checked",
			end: func(_ *testing.T, s *apiServer, _ auth.Key) {
				fault := embeddedtest.Answer("ResourceNotFoundException", "GetItem")
				fault.Match = func(c *embeddedtest.Call) bool { return bytes.Contains(c.Body(), []byte("keyId")) }
				s.transport.Inject(fault)
			},
		},
		{
			about: "valid",
			end:   func(*testing.T, *apiServer, auth.Key) {},
			open:  true,
		},
	} {
		t.Run(row.about, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newAPIServer(t, nil)
				row.key.Name, row.key.Tenant, row.key.Scope = "test", auth.DefaultTenant, auth.Read

				key, token, err := s.keys.Create(t.Context(), row.key)
				if err != nil {
					t.Fatal(err)
				}

				act := s.key(auth.DefaultTenant, auth.Act)
				s.want(s.ask("PUT", "/v1/orders/o-1", mugs, "Authorization", act), http.StatusCreated, "")

				f := s.follow(t, "Authorization", "Bearer "+string(token))
				time.Sleep(30 * time.Second)

				row.end(t, s, key)
				time.Sleep(10 * time.Second)

				s.swing(t, 2, 2)
				time.Sleep(5 * time.Second)
				synctest.Wait()

				want := `1 interrupted{"code":"unauthenticated"}`
				if row.open {
					want = "1 2"
				}

				if got := f.events(); got != want || f.over() == row.open {
					t.Errorf("events %s, over %t, want %s", got, f.over(), want)
				}
			})
		})
	}
}

func TestAnOrderThatCannotBeReadInterruptsItsStreams(t *testing.T) {
	unreadable := func(times int) func(*testing.T, *apiServer) {
		return func(_ *testing.T, s *apiServer) {
			fault := embeddedtest.Answer("AccessDeniedException", "GetItem")
			fault.Times = times
			s.transport.Inject(fault)
		}
	}

	for _, row := range []struct {
		about string
		fail  func(*testing.T, *apiServer)
		want  string
		log   string
	}{
		{about: "three reads fail", fail: unreadable(3), want: "1 2", log: "an order with event streams cannot be read"},
		{about: "reads fail", fail: unreadable(0), want: `1 interrupted{"code":"unavailable"}`, log: "event streams interrupted"},
		{
			about: "the order is deleted",
			fail: func(t *testing.T, s *apiServer) {
				table := shop.OrdersTable
				if _, err := s.db.DeleteItem(t.Context(), &dynamodb.DeleteItemInput{TableName: &table, Key: dynamo.Item{"orderId": dynamo.S("o-1")}}); err != nil {
					t.Fatal(err)
				}
			},
			want: `1 interrupted{"code":"order_not_found"}`,
		},
	} {
		t.Run(row.about, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newAPIServer(t, dev)
				s.want(s.ask("PUT", "/v1/orders/o-1", mugs), http.StatusCreated, "")

				f := s.follow(t)
				row.fail(t, s)
				time.Sleep(13 * time.Second)
				s.transport.Clear()

				if row.want == "1 2" {
					s.swing(t, 2, 2)
				}
				time.Sleep(5 * time.Second)
				synctest.Wait()

				if got := f.events(); got != row.want {
					t.Errorf("events %s, want %s", got, row.want)
				}

				if f.over() != strings.Contains(row.want, "interrupted") {
					t.Errorf("over: %t", f.over())
				}

				if !strings.Contains(s.log.String(), row.log) {
					t.Errorf("the log lacks %q", row.log)
				}
			})
		})
	}
}

// A journal that cannot be read is no gap: the client comes back to where it was.
func TestAJournalThatCannotBeReadInterruptsTheStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newAPIServer(t, dev)
		s.want(s.ask("PUT", "/v1/orders/o-1", mugs), http.StatusCreated, "")
		s.swing(t, 2, 21)
		s.transport.Inject(embeddedtest.Answer("AccessDeniedException", "Query"))

		f := s.follow(t, "Last-Event-ID", "3")
		time.Sleep(15 * time.Second)
		synctest.Wait()

		if got, want := f.events(), `interrupted{"code":"unavailable"}`; got != want || !f.over() {
			t.Errorf("events %s, over %t, want %s", got, f.over(), want)
		}
	})
}

func TestHEADOpensNoEventStream(t *testing.T) {
	s := newAPIServer(t, func(cfg *api.Config) { dev(cfg); cfg.Watches = 1 })
	s.want(s.ask("PUT", "/v1/orders/o-1", mugs), http.StatusCreated, "")

	for range 3 { // an open stream would not answer, and refuse the next
		a := s.want(s.ask("HEAD", "/v1/orders/o-1/events", ""), http.StatusOK, "")
		if a.Header.Get("Content-Type") != "text/event-stream" || a.text != "" {
			t.Errorf("Content-Type %q, body %q", a.Header.Get("Content-Type"), a.text)
		}
	}

	if a := s.ask("HEAD", "/v1/orders/o-2/events", ""); a.StatusCode != http.StatusNotFound {
		t.Errorf("of an order that does not exist: %d", a.StatusCode)
	}
}
