package server_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"ratchet/embedded/embeddedtest"
	"ratchet/operate/executions"
	"ratchet/server"
	"ratchet/transitions"
	"ratchet/workflow"
)

// endpoint serves the embedded engine over HTTP, as `ratchet dev` does, and connects to it.
func endpoint(t *testing.T, cfg server.Config) *server.Backend {
	t.Helper()

	for _, name := range []string{"AWS_REGION", "AWS_DEFAULT_REGION", "AWS_PROFILE", "AWS_ACCESS_KEY_ID"} {
		t.Setenv(name, "")
	}

	embedded, err := embed(t, server.Config{Data: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}

	web := httptest.NewServer(embedded.Engine.Handler())
	t.Cleanup(web.Close)

	cfg.EndpointURL, cfg.Data = web.URL, t.TempDir()

	b, err := server.Connect(t.Context(), cfg, embeddedtest.Quiet(), server.Events{})
	if err != nil {
		t.Fatal(err)
	}

	// goleak finds connections that stay open.
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}

		web.CloseClientConnections()
	})

	return b
}

func TestABackendMayBeAnEndpoint(t *testing.T) {
	b := endpoint(t, server.Config{})
	if b.Engine != nil {
		t.Error("the backend has an embedded engine")
	}

	if err := b.CreateTables(t.Context()); err != nil {
		t.Fatal(err)
	}

	if _, err := b.StateMachineARN(t.Context()); !errors.Is(err, server.ErrNotInitialized) {
		t.Errorf("state machine before Init: %v", err)
	}

	for range 2 { // Init is idempotent
		if err := b.Init(t.Context()); err != nil {
			t.Fatal(err)
		}
	}

	result, err := b.Orders.Create(t.Context(), mug)
	if err != nil || result.Verdict != transitions.Applied {
		t.Errorf("create: %s, %v", result.Verdict, err)
	}

	_, err = b.Request(t.Context(), transitions.Request{OrderID: mug.ID, Event: workflow.Cancel, RequestID: "r-1"})
	if !errors.Is(err, transitions.ErrInvalidRequest) {
		t.Errorf("a request without a queue: %v", err)
	}
}

func TestTheAPIIsReadyAndStartsExecutions(t *testing.T) {
	b := endpoint(t, server.Config{})
	if err := b.Init(t.Context()); err != nil {
		t.Fatal(err)
	}

	var audit strings.Builder

	handler, err := b.APIHandler(t.Context(), true, &audit)
	if err != nil {
		t.Fatal(err)
	}

	call := func(method, path, body string) *httptest.ResponseRecorder {
		r := httptest.NewRequestWithContext(t.Context(), method, "http://localhost"+path, strings.NewReader(body))
		r.Header.Set("Content-Type", "application/json")

		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)

		return w
	}

	if got := call(http.MethodGet, "/readyz", ""); got.Code != http.StatusOK {
		t.Errorf("ready: %d", got.Code)
	}

	for _, id := range []string{"o-1", "o-2"} {
		got := call(http.MethodPut, "/v1/orders/"+id, `{"items":[{"sku":"mug","quantity":1,"price":1250}],"total":{"amount":1250,"currency":"EUR"}}`)
		if got.Code/100 != 2 {
			t.Errorf("create %s: %d %s", id, got.Code, got.Body)
		}

		if !strings.Contains(audit.String(), id) {
			t.Errorf("the audit has no line about %s: %s", id, &audit)
		}

		arn, err := b.ExecutionARN(t.Context(), transitions.OrderID(id))
		if err != nil || !strings.HasSuffix(arn, ":"+id) {
			t.Errorf("execution %s, %v", arn, err)
		}
	}

	arn, err := b.StateMachineARN(t.Context())
	if err != nil {
		t.Fatal(err)
	}

	other := mug
	other.Total.Amount, other.Items = 5, nil

	if _, err := b.Start(t.Context(), arn, other); !errors.Is(err, executions.ErrOtherOrder) {
		t.Errorf("another order under the same id: %v", err)
	}
}

// TestFaultsOverTheWireAreASetting: a program in any language can make the engine throttle.
func TestFaultsOverTheWireAreASetting(t *testing.T) {
	for allowed, want := range map[bool]int{true: http.StatusOK, false: http.StatusBadRequest} {
		b, err := embed(t, server.Config{Data: t.TempDir(), FaultAdmin: allowed})
		if err != nil {
			t.Fatal(err)
		}

		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", strings.NewReader(`{"On":["UpdateItem"],"Error":"Throttled","Every":2}`))
		r.Header.Set("X-Amz-Target", "RatchetEngine_20261121.InjectFault")

		w := httptest.NewRecorder()
		b.Engine.Handler().ServeHTTP(w, r)

		if w.Code != want {
			t.Errorf("allowed %t: %d %s", allowed, w.Code, w.Body)
		}
	}
}
