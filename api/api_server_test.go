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
	"ratchet/activities/tasktoken"
	"ratchet/api"
	"ratchet/api/auth"
	"ratchet/embedded"
	"ratchet/embedded/embeddedtest"
	"ratchet/notify/webhooks"
	"ratchet/once"
	"ratchet/once/actions"
	"ratchet/once/inventory"
	"ratchet/once/ledger"
	"ratchet/operate/audit"
	"ratchet/payments"
	"ratchet/payments/sandbox"
	"ratchet/server"
	"ratchet/shipping/reports"
	"ratchet/streams"
	"ratchet/transitions"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// world is an API with its own embedded engine.
type world struct {
	t         testing.TB
	engine    *embedded.Engine
	transport *embeddedtest.Transport // between db and the engine
	db        *dynamodb.Client
	answers   *embeddedtest.Transport // between sfn and the engine
	sfn       *sfn.Client
	keys      *auth.Keys
	cfg       api.Config
	handler   http.Handler
	signer    *webhooks.Keys // of the processor
	log       bytes.Buffer   // log and audit lines
}

// newWorld returns an API that is authenticated with API keys, unless change disables it.
func newWorld(t testing.TB, change func(*api.Config)) *world {
	t.Helper()
	w := &world{t: t, engine: embeddedtest.Open(t)}
	aws := w.engine.AWSConfig()
	w.transport = embeddedtest.Intercept(&aws)
	w.db = dynamodb.NewFromConfig(aws)
	embeddedtest.Create(t, w.db, transitions.OrdersTable("orders"), transitions.JournalTable("journal"), inventory.TableInput("inventory"), inventory.DueTableInput("due"),
		tasktoken.TableInput("parked"), streams.DeadLetterTableInput("letters"), streams.LeaseTableInput("leases"), auth.TableInput("keys"), actions.TableInput("actions"), once.TableInput("once"))
	log := slog.New(slog.NewJSONHandler(&w.log, &slog.HandlerOptions{Level: slog.LevelDebug}))

	orders, err := transitions.New(transitions.Config{
		DynamoDB:     w.db,
		Table:        "orders",
		JournalTable: "journal",
		Journal:      transitions.JournalTransactional,
		Log:          log,
	})
	if err != nil {
		t.Fatal(err)
	}

	if w.keys, err = auth.NewKeys(auth.KeysConfig{DynamoDB: w.db, Table: "keys"}); err != nil {
		t.Fatal(err)
	}

	stock, err := inventory.New(inventory.Config{DynamoDB: w.db, Table: "inventory", DueTable: "due"})
	if err != nil {
		t.Fatal(err)
	}

	all, err := actions.New(actions.Config{DynamoDB: w.db, Table: "actions", Keys: []actions.Key{actions.NewKey(1)}})
	if err != nil {
		t.Fatal(err)
	}
	books := ledger.Tables{Accounts: "accounts", Entries: "entries", Transfers: "transfers", Holds: "holds"}
	embeddedtest.Create(t, w.db, books.Inputs()...)

	money, err := ledger.New(ledger.Config{DynamoDB: w.db, Tables: books})
	if err != nil {
		t.Fatal(err)
	}

	if w.signer, err = webhooks.New(webhooks.Config{Secrets: []webhooks.Secret{webhooks.NewSecret()}}); err != nil {
		t.Fatal(err)
	}
	embeddedtest.Create(t, w.db, sandbox.Table("bank"))
	payTables := payments.Tables{Payments: "payments", Due: "payments-due"}
	embeddedtest.Create(t, w.db, payTables.Inputs()...)

	bank, err := sandbox.New(sandbox.Config{DynamoDB: w.db, Table: "bank"})
	if err != nil {
		t.Fatal(err)
	}

	pay, err := payments.New(payments.Config{
		DynamoDB:  w.db,
		Tables:    payTables,
		Ledger:    money,
		Processor: bank,
		Callbacks: w.signer,
	})
	if err != nil {
		t.Fatal(err)
	}

	claims, err := once.New(once.Config{DynamoDB: w.db, Table: "once"})
	if err != nil {
		t.Fatal(err)
	}

	locks, err := once.NewLocks(once.LocksConfig{DynamoDB: w.db, Table: "once"})
	if err != nil {
		t.Fatal(err)
	}

	parked, err := tasktoken.New(tasktoken.Config{DynamoDB: w.db, Table: "parked"})
	if err != nil {
		t.Fatal(err)
	}

	endpoints, deliveries := w.notifications()

	calls := w.engine.AWSConfig()
	w.answers = embeddedtest.Intercept(&calls)
	w.sfn = sfn.NewFromConfig(calls)

	embeddedtest.Create(t, w.db, reports.Table("reports"))

	desk, err := reports.New(reports.Config{
		DynamoDB:  w.db,
		Table:     "reports",
		Orders:    orders,
		Payments:  pay,
		Callbacks: w.signer,
		Log:       log,
	})
	if err != nil {
		t.Fatal(err)
	}

	embeddedtest.Create(t, w.db, audit.TableInput("audit"))

	acts, err := audit.New(audit.Config{DynamoDB: w.db, Table: "audit"})
	if err != nil {
		t.Fatal(err)
	}

	w.cfg = api.Config{
		Acts:        acts,
		Orders:      orders,
		Reports:     desk,
		Stock:       stock,
		AddReserved: (&server.Backend{Orders: orders, Stock: stock, Claims: claims}).AddItems,
		Actions:     all,
		Ledger:      money,
		Payments:    pay,
		Claims:      once.Config{DynamoDB: w.db, Table: "once"},
		Locks:       locks,
		Parked:      parked,
		DeadLetters: streams.DeadLetters{DynamoDB: w.db, Table: "letters"},
		RetryQueue:  streams.RetryQueue{DynamoDB: w.db, TableName: "orders", DeadLetterTable: "letters", LeaseTable: "leases"},
		Replay:      w.replay,
		Endpoints:   endpoints,
		Deliveries:  deliveries,
		Auth:        w.keys,
		Secret:      bytes.Repeat([]byte{7}, 32),
		Rate:        -1,
		Log:         log,
	}
	w.completeWithin(time.Minute)

	if change != nil {
		change(&w.cfg)
	}

	if w.handler, err = api.New(w.cfg); err != nil {
		t.Fatal(err)
	}

	return w
}

// completeWithin limits the time of an answer to a parked task.
func (w *world) completeWithin(limit time.Duration) {
	w.t.Helper()

	completer, err := activities.NewCompleter(activities.CompleterConfig{SFN: w.sfn, Timeout: limit})
	if err != nil {
		w.t.Fatal(err)
	}
	w.cfg.Completer = completer

	if w.handler == nil {
		return
	}

	if w.handler, err = api.New(w.cfg); err != nil {
		w.t.Fatal(err)
	}
}

// dev disables authentication.
func dev(c *api.Config) { c.Auth, c.Dev = nil, true }

// key creates an API key and returns the value of its Authorization header.
func (w *world) key(tenant auth.Tenant, scope auth.Scope) string {
	w.t.Helper()

	_, token, err := w.keys.Create(context.Background(), auth.NewKey{Name: "test", Tenant: tenant, Scope: scope})
	if err != nil {
		w.t.Fatal(err)
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
func (w *world) ask(method, path, body string, headers ...string) answer {
	w.t.Helper()

	r := httptest.NewRequest(method, "http://localhost"+path, strings.NewReader(body))
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}

	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	rec := httptest.NewRecorder()
	w.handler.ServeHTTP(rec, r)
	out := rec.Result()

	text, err := io.ReadAll(out.Body)
	if err != nil {
		w.t.Fatal(err)
	}

	return answer{out, string(text)}
}

// want fails the test unless the answer has the status, and the code if it is a problem.
func (w *world) want(a answer, status int, code string) answer {
	w.t.Helper()

	if a.StatusCode != status || a.StatusCode >= 400 && a.code() != code {
		w.t.Fatalf("%d %s, want %d %s", a.StatusCode, a.text, status, code)
	}

	if a.StatusCode >= 400 && a.field("type") != "/errors#"+code {
		w.t.Errorf("the problem has the type %s: %s", a.field("type"), a.text)
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
