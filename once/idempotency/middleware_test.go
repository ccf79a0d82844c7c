package idempotency_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"go.uber.org/goleak"

	"ratchet/embedded/embeddedtest"
	"ratchet/once"
	"ratchet/once/idempotency"
	"ratchet/once/keys"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// api is a handler behind the middleware, and the claims that it uses.
type api struct {
	http.Handler
	claims *once.Claims
	cfg    idempotency.Config
	calls  atomic.Int32
	// do answers a request that runs.
	do func(http.ResponseWriter, *http.Request)
}

func newAPI(t *testing.T, change ...func(*api, *once.Config)) *api {
	t.Helper()

	a := &api{do: func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.Header().Set("Location", "/orders/1")
		w.Header().Set("Set-Cookie", "session=secret")
		w.Header().Set("Content-Type", "text/plain")
		w.WriteHeader(http.StatusCreated)
		_, _ = w.Write(append([]byte("made of "), body...))
	}}
	a.cfg = idempotency.Config{
		Caller: func(r *http.Request) (string, error) {
			if who := r.Header.Get("X-Caller"); who != "unknown" {
				return "tenant-" + who, nil
			}
			return "", errors.New("unknown caller")
		}}
	a.cfg.SetNow(func() time.Time { return noon })

	cfg := once.Config{DynamoDB: embeddedtest.DynamoDB(t, once.TableInput("once")), Table: "once", Operation: "http", Lease: time.Minute,
		Now: func() time.Time { return noon }}
	for _, c := range change {
		c(a, &cfg)
	}

	var err error
	if a.claims, err = once.New(cfg); err != nil {
		t.Fatal(err)
	}
	a.cfg.Claims = a.claims

	wrap, err := idempotency.New(a.cfg)
	if err != nil {
		t.Fatal(err)
	}
	a.Handler = wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { a.calls.Add(1); a.do(w, r) }))

	return a
}

// post sends a request; fields are further header fields.
func (a *api) post(target, body string, fields ...string) answer {
	r := httptest.NewRequest(http.MethodPost, target, strings.NewReader(body))
	for i := 0; i < len(fields); i += 2 {
		r.Header.Add(fields[i], fields[i+1])
	}

	return a.send(r)
}

// answer is a response as it was sent.
type answer struct {
	status int
	header http.Header
	body   string
}

func (a *api) send(r *http.Request) answer {
	w := httptest.NewRecorder()
	a.ServeHTTP(w, r)
	sent := w.Result()
	defer sent.Body.Close()

	return answer{sent.StatusCode, sent.Header, w.Body.String()}
}

// problem checks an answer of the middleware's own.
func problem(t *testing.T, r answer, status int, code string) {
	t.Helper()

	var p struct {
		Type, Title, Code string
		Status            int
	}
	body := r.body
	if err := json.Unmarshal([]byte(body), &p); err != nil || r.status != status || p.Status != status || p.Code != code || p.Title == "" || p.Type == "" ||
		r.header.Get("Content-Type") != "application/problem+json" {
		t.Errorf("%d %s %s, want %d %s", r.status, r.header, body, status, code)
	}
}

func TestARetryGetsTheStoredResponse(t *testing.T) {
	a := newAPI(t)
	for i := range 3 {
		r := a.post("/orders", "clay", "Idempotency-Key", `"k-1"`)
		if got := r.body; r.status != http.StatusCreated || got != "made of clay" || r.header.Get("Location") != "/orders/1" {
			t.Errorf("call %d: %d %s %q", i, r.status, r.header, got)
		}

		if replayed := r.header.Get("Idempotent-Replayed") == "true"; replayed != (i > 0) {
			t.Errorf("call %d: replayed %t", i, replayed)
		}

		if cookie := r.header.Get("Set-Cookie"); (cookie != "") != (i == 0) {
			t.Errorf("call %d: cookie %q: cookies are not stored", i, cookie)
		}
	}

	if r := a.post("/orders", "clay", "Idempotency-Key", `k-1`); r.header.Get("Idempotent-Replayed") != "true" {
		t.Error("a key with and without quotes must be the same key")
	}

	if a.calls.Load() != 1 {
		t.Errorf("%d calls", a.calls.Load())
	}
}

func TestAMissingOrMalformedKeyIsRefused(t *testing.T) {
	a := newAPI(t, func(a *api, _ *once.Config) { a.cfg.Docs = "https://docs.example/keys" })
	r := a.post("/orders", "")
	if link := r.header.Get("Link"); !strings.Contains(link, "https://docs.example/keys") || !strings.Contains(link, "describedby") {
		t.Errorf("link %q", link)
	}
	problem(t, r, http.StatusBadRequest, "idempotency_key_missing")
	problem(t, a.post("/orders", "", "Idempotency-Key", ""), http.StatusBadRequest, "idempotency_key_malformed")
	problem(t, a.post("/orders", "", "Idempotency-Key", `"open`), http.StatusBadRequest, "idempotency_key_malformed")
	problem(t, a.post("/orders", "", "Idempotency-Key", "a", "Idempotency-Key", "b"), http.StatusBadRequest, "idempotency_key_malformed")
	problem(t, a.post("/orders", "", "Idempotency-Key", strings.Repeat("k", 256)), http.StatusBadRequest, "idempotency_key_malformed")
	problem(t, a.post("/orders", "", "Idempotency-Key", "k", "X-Caller", "unknown"), http.StatusUnauthorized, "caller_unknown")

	if a.calls.Load() != 0 {
		t.Errorf("%d calls", a.calls.Load())
	}

	optional := newAPI(t, func(a *api, _ *once.Config) { a.cfg.Optional = true })
	for range 2 {
		if r := optional.post("/orders", ""); r.status != http.StatusCreated {
			t.Errorf("where keys are optional: %d", r.status)
		}
	}

	if r := a.send(httptest.NewRequest(http.MethodGet, "/orders", nil)); r.status != http.StatusCreated || optional.calls.Load() != 2 {
		t.Errorf("a GET needs no key: %d", r.status)
	}
}

func TestAnotherRequestUnderTheKeyIsRefused(t *testing.T) {
	a := newAPI(t)
	const asJSON = "application/json; charset=utf-8"
	first := func() answer {
		return a.post("/orders?x=1", `{"a":1,"b":2}`, "Idempotency-Key", "k", "Content-Type", asJSON)
	}
	first()

	if r := a.post("/orders?x=1", `{ "b": 2.0, "a": 1 }`, "Idempotency-Key", "k", "Content-Type", "application/json"); r.header.Get("Idempotent-Replayed") != "true" {
		t.Errorf("the same JSON value in another spelling: %d", r.status)
	}

	for name, r := range map[string]answer{
		"another body":   a.post("/orders?x=1", `{"a":1}`, "Idempotency-Key", "k", "Content-Type", asJSON),
		"another target": a.post("/refunds?x=1", `{"a":1,"b":2}`, "Idempotency-Key", "k", "Content-Type", asJSON),
		"another query":  a.post("/orders?x=2", `{"a":1,"b":2}`, "Idempotency-Key", "k", "Content-Type", asJSON),
		"another type":   a.post("/orders?x=1", `{"a":1,"b":2}`, "Idempotency-Key", "k", "Content-Type", "text/plain"),
	} {
		t.Run(name, func(t *testing.T) { problem(t, r, http.StatusConflict, "idempotency_key_reused") })
	}

	if r := a.post("/orders?x=1", `{"a":1}`, "Idempotency-Key", "k", "X-Caller", "other", "Content-Type", asJSON); r.status != http.StatusCreated {
		t.Errorf("an equal key of another caller must be another key: %d", r.status)
	}

	if r := a.post("/orders", `{"a":`, "Idempotency-Key", "bad", "Content-Type", asJSON); r.status != http.StatusCreated {
		t.Errorf("a body that is not JSON must reach the handler: %d", r.status)
	}
}

func TestAConcurrentRequestIsRefused(t *testing.T) {
	a := newAPI(t)
	working, finish := make(chan struct{}), make(chan struct{})
	a.do = func(w http.ResponseWriter, _ *http.Request) {
		close(working)
		<-finish
		w.WriteHeader(http.StatusNoContent)
	}
	var group sync.WaitGroup
	group.Go(func() {
		if r := a.post("/orders", "", "Idempotency-Key", "k"); r.status != http.StatusNoContent {
			t.Errorf("the first: %d", r.status)
		}
	})
	<-working

	r := a.post("/orders", "", "Idempotency-Key", "k", "Prefer", "wait=0")
	if rest := r.header.Get("Retry-After"); rest != "1" { // it has just begun
		t.Errorf("Retry-After %s", rest)
	}
	problem(t, r, http.StatusConflict, "in_progress")
	close(finish)
	group.Wait()
}

func TestAResponseThatAsksForARetryIsNotStored(t *testing.T) {
	for status, stored := range map[int]bool{200: true, 302: true, 400: true, 404: true, 422: true, 408: false, 409: false, 425: false, 429: false, 500: false, 503: false} {
		a := newAPI(t)
		a.do = func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) }
		for range 2 {
			if r := a.post("/orders", "", "Idempotency-Key", "k"); r.status != status {
				t.Errorf("the handler answered %d, the client got %d", status, r.status)
			}
		}

		if want := map[bool]int32{true: 1, false: 2}[stored]; a.calls.Load() != want {
			t.Errorf("%d: %d calls", status, a.calls.Load())
		}
	}

	a := newAPI(t, func(a *api, _ *once.Config) {
		a.cfg.Decide = func(int) idempotency.Decision { return idempotency.Unknown }
	})
	a.do = func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusGatewayTimeout) }
	if r := a.post("/orders", "", "Idempotency-Key", "k"); r.status != http.StatusGatewayTimeout {
		t.Errorf("%d", r.status)
	}
	problem(t, a.post("/orders", "", "Idempotency-Key", "k"), http.StatusConflict, "unknown_outcome")
}

func TestBodiesAreBounded(t *testing.T) {
	a := newAPI(t, func(a *api, _ *once.Config) { a.cfg.MaxRequest, a.cfg.MaxResponse = 10, 20 })
	problem(t, a.post("/orders", "12345678901", "Idempotency-Key", "request"), http.StatusRequestEntityTooLarge, "body_too_large")

	a.do = func(w http.ResponseWriter, _ *http.Request) {
		if _, err := w.Write(make([]byte, 21)); err == nil {
			t.Error("the handler must get the error")
		}
	}
	for range 2 {
		problem(t, a.post("/orders", "", "Idempotency-Key", "response"), http.StatusInternalServerError, "response_too_large")
	}

	if a.calls.Load() != 1 {
		t.Errorf("the effect must not be repeated: %d calls", a.calls.Load())
	}
}

func TestAHandlerCannotStream(t *testing.T) {
	a := newAPI(t)
	a.do = func(w http.ResponseWriter, _ *http.Request) {
		c := http.NewResponseController(w)
		_, _, hijack := c.Hijack()
		if flush := c.Flush(); !errors.Is(flush, http.ErrNotSupported) || !errors.Is(hijack, http.ErrNotSupported) {
			t.Errorf("flush: %v, hijack: %v", flush, hijack)
		}
		w.WriteHeader(http.StatusEarlyHints)
		w.WriteHeader(http.StatusAccepted)
		w.Header().Set("Location", "/too-late")
		_, _ = w.Write([]byte("<html>"))
	}
	for range 2 {
		r := a.post("/orders", "", "Idempotency-Key", "k")
		if r.status != http.StatusAccepted || r.header.Get("Location") != "" || r.header.Get("Content-Type") != "text/html; charset=utf-8" {
			t.Errorf("%d %s", r.status, r.header)
		}
	}
}

func TestAPanicFreesTheKey(t *testing.T) {
	a := newAPI(t)
	fine := a.do
	a.do = func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }
	func() {
		defer func() {
			if err, _ := recover().(error); !errors.Is(err, http.ErrAbortHandler) {
				t.Error("the panic was swallowed")
			}
		}()
		a.post("/orders", "", "Idempotency-Key", "k")
	}()

	a.do = fine
	if r := a.post("/orders", "", "Idempotency-Key", "k"); r.status != http.StatusCreated {
		t.Errorf("%d", r.status)
	}
}

func TestAKeyWithItsOwnEndIsRefusedAfterwards(t *testing.T) {
	a := newAPI(t, func(_ *api, c *once.Config) { c.KeysExpire = true })
	live, err := keys.Expiring("order", "1", noon.Add(time.Second))
	if err != nil {
		t.Fatal(err)
	}

	over, err := keys.Expiring("order", "1", noon)
	if err != nil {
		t.Fatal(err)
	}

	if r := a.post("/orders", "", "Idempotency-Key", live); r.status != http.StatusCreated {
		t.Errorf("%d %s", r.status, r.body)
	}
	problem(t, a.post("/orders", "", "Idempotency-Key", over), http.StatusBadRequest, "idempotency_key_expired")
	problem(t, a.post("/orders", "", "Idempotency-Key", "plain"), http.StatusBadRequest, "idempotency_key_malformed")
}

func TestWithoutDynamoDBNothingRuns(t *testing.T) {
	a := newAPI(t, func(_ *api, c *once.Config) {
		c.DynamoDB = dynamodb.New(dynamodb.Options{Region: "us-east-1", Credentials: aws.AnonymousCredentials{}, Retryer: aws.NopRetryer{}, HTTPClient: noNetwork{}})
	})
	r := a.post("/orders", "", "Idempotency-Key", "k")
	if r.header.Get("Retry-After") == "" {
		t.Error("no Retry-After")
	}
	problem(t, r, http.StatusServiceUnavailable, "unavailable")

	if a.calls.Load() != 0 {
		t.Errorf("%d calls", a.calls.Load())
	}
}

type noNetwork struct{}

func (noNetwork) Do(*http.Request) (*http.Response, error) { return nil, errors.New("no network") }

func TestARequestThatCannotBeReadRunsNothing(t *testing.T) {
	a := newAPI(t)
	r := httptest.NewRequest(http.MethodPost, "/orders", io.MultiReader(strings.NewReader("half"), broken{}))
	r.Header.Set("Idempotency-Key", "k")
	problem(t, a.send(r), http.StatusBadRequest, "request_unreadable")
}

type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

func TestAStoredResponseOfAnotherFormatIsNotSent(t *testing.T) {
	a := newAPI(t)
	body := []byte("x")
	a.post("/orders", string(body), "Idempotency-Key", "k")
	// A later version stored it: the same request, another format.
	key, err := keys.Of("tenant-", "http", "later")
	if err != nil {
		t.Fatal(err)
	}

	_, _, err = a.claims.Do(t.Context(), key, idempotency.Fingerprint("/orders", body), func(context.Context, *once.Claim) ([]byte, error) {
		return bytes.Repeat([]byte{9}, 10), nil
	})
	if err != nil {
		t.Fatal(err)
	}
	problem(t, a.post("/orders", string(body), "Idempotency-Key", "later"), http.StatusConflict, "result_unavailable")
}

func TestNewReportsFaultsOfItsConfig(t *testing.T) {
	a := newAPI(t)
	for name, change := range map[string]func(*idempotency.Config){
		"Claims": func(c *idempotency.Config) { c.Claims = nil }, "Caller": func(c *idempotency.Config) { c.Caller = nil },
		"MaxResponse": func(c *idempotency.Config) { c.MaxResponse = 4 << 20 }, "Headers": func(c *idempotency.Config) { c.Headers = []string{"set-cookie"} },
	} {
		cfg := a.cfg
		change(&cfg)

		if _, err := idempotency.New(cfg); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// After a run that did not end, only the handler can find out whether it had an effect.
func TestTheHandlerSeesItsClaim(t *testing.T) {
	a := newAPI(t)

	var seen []*once.Claim
	a.do = func(_ http.ResponseWriter, r *http.Request) {
		seen = append(seen, idempotency.ClaimFrom(r.Context()))

		if len(seen) == 1 {
			panic(http.ErrAbortHandler)
		}
	}

	func() {
		defer func() { _ = recover() }()
		a.post("/orders", "{}", idempotency.Header, "k")
	}()

	if again := a.post("/orders", "{}", idempotency.Header, "k"); again.status != http.StatusOK {
		t.Fatalf("%+v", again)
	}

	if len(seen) != 2 || seen[0] == nil || seen[0].Outcome != once.Acquired || seen[1] == nil || seen[1].Outcome != once.TakenOver || seen[1].Fence() <= seen[0].Fence() {
		t.Errorf("the handler has seen %+v", seen)
	}

	if claim := idempotency.ClaimFrom(t.Context()); claim != nil {
		t.Errorf("a claim without a request: %+v", claim)
	}
}

// A caller without a name owns no keys.
func TestACallerNeedsAName(t *testing.T) {
	a := newAPI(t, func(a *api, _ *once.Config) {
		a.cfg.Caller = func(*http.Request) (string, error) { return "", nil }
	})
	problem(t, a.post("/orders", "", "Idempotency-Key", "k"), http.StatusUnauthorized, "caller_unknown")
}

// The bounds of the configuration, with the field and its rule.
func TestTheBoundsOfTheConfiguration(t *testing.T) {
	a := newAPI(t)
	for name, row := range map[string]struct {
		change func(c *idempotency.Config)
		says   string // "" for a valid one
	}{
		"a request below 0":          {func(c *idempotency.Config) { c.MaxRequest = -1 }, "MaxRequest -1"},
		"a response below 0":         {func(c *idempotency.Config) { c.MaxResponse = -1 }, "MaxResponse -1"},
		"the largest response":       {func(c *idempotency.Config) { c.MaxResponse = 3 << 20 }, ""},
		"a response that is too big": {func(c *idempotency.Config) { c.MaxResponse = 3<<20 + 1 }, "MaxResponse"},
	} {
		c := a.cfg
		c.Claims = a.claims
		row.change(&c)

		if _, err := idempotency.New(c); (row.says == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), row.says) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A response that cannot be stored is not given: a repeat would get another one.
func TestAResponseThatIsNotStoredIsNotGiven(t *testing.T) {
	a := newAPI(t)
	fine := a.do
	a.do = func(w http.ResponseWriter, r *http.Request) {
		key, err := keys.Of("tenant-", "http", "k")
		if err != nil {
			t.Error(err)
		}

		record, _, err := a.claims.Get(r.Context(), key)
		if err == nil {
			err = a.claims.ForceRelease(r.Context(), record, "ada", "another takes the key over")
		}

		if err != nil {
			t.Error(err)
		}
		fine(w, r)
	}
	problem(t, a.post("/orders", "", "Idempotency-Key", "k"), http.StatusServiceUnavailable, "unavailable")
}
