package api_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/sfn"
	"go.uber.org/goleak"

	"ratchet/activities"
	"ratchet/api"
	"ratchet/api/auth"
	"ratchet/embedded"
	"ratchet/embedded/embeddedtest"
	"ratchet/notify/webhooks"
	"ratchet/once"
	"ratchet/once/actions"
	"ratchet/operate/audit"
	"ratchet/operate/jobs"
	"ratchet/operate/processes"
	"ratchet/payments"
	"ratchet/server"
	"ratchet/shipping/reports"
	"ratchet/streams/deadletters"
	"ratchet/streams/leases"
	"ratchet/streams/retryqueue"
	"ratchet/tests/shop"
	"ratchet/transitions"
	"ratchet/transitions/scheduled"
	"ratchet/transitions/timers"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// apiServer is an API with its own embedded engine.
type apiServer struct {
	t         testing.TB
	engine    *embedded.Engine
	kit       *shop.Shop
	transport *embeddedtest.Transport // between db and the engine
	db        *dynamodb.Client
	answers   *embeddedtest.Transport // between sfn and the engine
	sfn       *sfn.Client
	keys      *auth.Keys
	cfg       api.Config
	handler   http.Handler
	signer    *webhooks.Keys // of the processor
	tenant    auth.Tenant    // whose requests are sent that name no caller; "" is as the server decides
	log       bytes.Buffer   // log and audit lines
}

// newAPIServer returns an API that is authenticated with API keys, unless change disables it.
func newAPIServer(t testing.TB, change func(*api.Config)) *apiServer {
	t.Helper()
	s := &apiServer{t: t, engine: embeddedtest.Open(t)}
	cfg := s.engine.AWSConfig()
	cfg.Retryer = embeddedtest.RetryAtOnce
	kit := shop.Over(t, cfg)
	s.kit, s.db, s.transport = kit, kit.DB, kit.Wire
	log := slog.New(slog.NewJSONHandler(&s.log, &slog.HandlerOptions{Level: slog.LevelDebug}))

	kit.Tables(deadletters.TableInput("letters"), leases.TableInput("leases"), auth.TableInput("keys"),
		actions.TableInput("actions"), reports.Table("reports"), audit.TableInput("audit"), jobs.TableInput("jobs"), processes.TableInput("questions"),
		scheduled.TableInput("scheduled"), timers.TableInput("orders-due"))

	orders := kit.Orders(shop.Journal(transitions.JournalTransactional), shop.WithoutRequests,
		func(c *transitions.Config) { c.Log = log })
	stock, claims := kit.Stock(), kit.Claims()

	var err error
	if s.keys, err = auth.NewKeys(auth.KeysConfig{DynamoDB: s.db, Table: "keys"}); err != nil {
		t.Fatal(err)
	}

	all, err := actions.New(actions.Config{DynamoDB: s.db, Table: "actions", Keys: []actions.Key{actions.NewKey(1)}})
	if err != nil {
		t.Fatal(err)
	}

	if s.signer, err = webhooks.New(webhooks.Config{Secrets: []webhooks.Secret{webhooks.NewSecret()}}); err != nil {
		t.Fatal(err)
	}

	money := kit.Ledger()
	pay := kit.Payments(money, kit.Bank(), func(c *payments.Config) { c.Callbacks = s.signer })

	locks, err := once.NewLocks(once.LocksConfig{DynamoDB: s.db, Table: shop.ClaimsTable})
	if err != nil {
		t.Fatal(err)
	}

	endpoints, deliveries := s.notifications()

	calls := s.engine.AWSConfig()
	calls.Retryer = embeddedtest.RetryAtOnce
	s.answers = embeddedtest.Intercept(&calls)
	s.sfn = sfn.NewFromConfig(calls)

	desk, err := reports.New(reports.Config{
		DynamoDB:  s.db,
		Table:     "reports",
		Orders:    orders,
		Payments:  pay,
		Callbacks: s.signer,
		Log:       log,
	})
	if err != nil {
		t.Fatal(err)
	}

	acts, err := audit.New(audit.Config{DynamoDB: s.db, Table: "audit"})
	if err != nil {
		t.Fatal(err)
	}

	many, err := jobs.NewStore(jobs.Config{DynamoDB: s.db, Table: "jobs"})
	if err != nil {
		t.Fatal(err)
	}

	later, err := scheduled.New(scheduled.Config{DynamoDB: s.db, Table: "scheduled", DueTable: "orders-due", Orders: orders, Log: log})
	if err != nil {
		t.Fatal(err)
	}

	s.cfg = api.Config{
		Questions:   newDesk(t, s.db, log),
		Scheduled:   later,
		Acts:        acts,
		Jobs:        many,
		Orders:      orders,
		Reports:     desk,
		Stock:       stock,
		AddReserved: (&server.Backend{Orders: orders, Stock: stock, Claims: claims}).AddItems,
		Actions:     all,
		Ledger:      money,
		Payments:    pay,
		Claims:      once.Config{DynamoDB: s.db, Table: shop.ClaimsTable},
		Locks:       locks,
		Parked:      kit.ParkedTasks(),
		DeadLetters: deadletters.Letters{DynamoDB: s.db, Table: "letters"},
		RetryQueue:  retryqueue.Queue{DynamoDB: s.db, TableName: shop.OrdersTable, DeadLetterTable: "letters", LeaseTable: "leases"},
		Replay:      s.replay,
		Endpoints:   endpoints,
		Deliveries:  deliveries,
		Auth:        s.keys,
		Secret:      bytes.Repeat([]byte{7}, 32),
		Rate:        -1,
		Log:         log,
	}
	s.completeWithin(time.Minute)

	if change != nil {
		change(&s.cfg)
	}

	if s.handler, err = api.New(s.cfg); err != nil {
		t.Fatal(err)
	}

	return s
}

// completeWithin limits the time of an answer to a parked task.
func (s *apiServer) completeWithin(limit time.Duration) {
	s.t.Helper()

	completer, err := activities.NewCompleter(activities.CompleterConfig{SFN: s.sfn, Timeout: limit})
	if err != nil {
		s.t.Fatal(err)
	}
	s.cfg.Completer = completer

	if s.handler == nil {
		return
	}

	if s.handler, err = api.New(s.cfg); err != nil {
		s.t.Fatal(err)
	}
}

// dev disables authentication.
func dev(c *api.Config) { c.Auth, c.Dev = nil, true }

// key creates an API key with the grant for personal data, and returns the value of its Authorization header.
func (s *apiServer) key(tenant auth.Tenant, scope auth.Scope) string {
	s.t.Helper()

	return s.keyOf(auth.NewKey{Tenant: tenant, Scope: scope, Personal: true})
}

// keyOf creates an API key and returns the value of its Authorization header.
func (s *apiServer) keyOf(n auth.NewKey) string {
	s.t.Helper()
	n.Name = "test"

	_, token, err := s.keys.Create(context.Background(), n)
	if err != nil {
		s.t.Fatal(err)
	}

	return "Bearer " + string(token)
}

// answer is a response with its body.
type answer struct {
	*http.Response
	text string
}

// code returns the code of a problem.
func (a answer) code() string {
	var p struct{ Code string }
	_ = json.Unmarshal([]byte(a.text), &p)
	return p.Code
}

// field returns the member of the body at the path, as text.
func (a answer) field(path ...string) string {
	var v any
	if err := json.Unmarshal([]byte(a.text), &v); err != nil {
		return "not JSON: " + a.text
	}

	for _, name := range path {
		m, _ := v.(map[string]any)
		v = m[name]
	}

	if s, ok := v.(string); ok {
		return s
	}
	out, _ := json.Marshal(v)

	return string(out)
}

// ask sends a request. Headers alternate between names and values.
func (s *apiServer) ask(method, path, body string, headers ...string) answer {
	s.t.Helper()
	return s.askIn(s.t.Context(), method, path, body, headers...)
}

// askIn is ask for a client that may go.
func (s *apiServer) askIn(ctx context.Context, method, path, body string, headers ...string) answer {
	s.t.Helper()

	r := httptest.NewRequestWithContext(ctx, method, "http://localhost"+path, strings.NewReader(body))
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}

	r.Header.Set(api.ReasonHeader, "test")

	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}

	if s.tenant != "" && r.Header.Get("Authorization") == "" {
		r = api.As(r, whose(s.tenant, auth.Admin))
	}

	rec := httptest.NewRecorder()
	s.handler.ServeHTTP(rec, r)
	out := rec.Result()

	text, err := io.ReadAll(out.Body)
	if err != nil {
		s.t.Fatal(err)
	}

	a := answer{out, string(text)}
	s.documented(method, path, a)

	return s.explained(method+" "+path, a)
}

// explained fails the test unless a refusal says what happened: a problem with a detail, and a rule for each field.
func (s *apiServer) explained(request string, a answer) answer {
	s.t.Helper()

	if a.StatusCode < http.StatusBadRequest {
		return a
	}

	var p struct {
		Type, Title, Code, Detail string
		Status                    int
		Errors                    []struct{ In, Detail string }
	}
	if err := json.Unmarshal([]byte(a.text), &p); err != nil || a.Header.Get("Content-Type") != "application/problem+json" {
		s.t.Errorf("%.200s: %d is no problem: %.200q", request, a.StatusCode, a.text)
		return a
	}

	if p.Type == "" || p.Title == "" || p.Code == "" || strings.TrimSpace(p.Detail) == "" || p.Status != a.StatusCode {
		s.t.Errorf("%.200s: %d does not say what happened: %.400s", request, a.StatusCode, a.text)
	}

	for _, field := range p.Errors {
		if field.In == "" || strings.TrimSpace(field.Detail) == "" {
			s.t.Errorf("%.200s: %d names a field without its rule: %.400s", request, a.StatusCode, a.text)
		}
	}

	return a
}

// want fails the test unless the answer has the status, and the code if it is a problem.
func (s *apiServer) want(a answer, status int, code string) answer {
	s.t.Helper()

	if a.StatusCode != status || a.StatusCode >= 400 && a.code() != code {
		s.t.Fatalf("%d %s, want %d %s", a.StatusCode, a.text, status, code)
	}

	if a.StatusCode >= 400 && a.field("type") != "/errors#"+code {
		s.t.Errorf("the problem has the type %s: %s", a.field("type"), a.text)
	}

	return a
}

// mugs is the body of an order of two mugs.
const mugs = `{"items":[{"sku":"mug","quantity":2,"price":1250}],"total":{"amount":2500,"currency":"EUR"}}`

// read decodes the body into the value.
func (a answer) read(t testing.TB, into any) {
	t.Helper()

	if err := json.Unmarshal([]byte(a.text), into); err != nil {
		t.Fatalf("%v in %s", err, a.text)
	}
}

// contextWith returns the context of the request on a connection to the local address.
func contextWith(r *http.Request, local net.Addr) context.Context {
	return context.WithValue(r.Context(), http.LocalAddrContextKey, local)
}

// blockingStart returns a Config.Start that reports its call and waits until proceed is
// closed.
func blockingStart(entered, proceed chan struct{}) func(context.Context, transitions.NewOrder) error {
	return func(context.Context, transitions.NewOrder) error {
		entered <- struct{}{}
		<-proceed
		return nil
	}
}

func panicStart(context.Context, transitions.NewOrder) error { panic("secret-cause") }

// brokenSink is an audit log whose writes fail with err.
type brokenSink struct{ err error }

func (b *brokenSink) Enabled(context.Context, slog.Level) bool  { return true }
func (b *brokenSink) Handle(context.Context, slog.Record) error { return b.err }
func (b *brokenSink) WithAttrs([]slog.Attr) slog.Handler        { return b }
func (b *brokenSink) WithGroup(string) slog.Handler             { return b }
