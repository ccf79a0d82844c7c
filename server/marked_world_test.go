package server_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/notify"
	"ratchet/server"
	"ratchet/server/ratchettest"
	"ratchet/transitions"
	"ratchet/workflow"
)

// written is everything that a process has written, by the place.
type written struct {
	mu    sync.Mutex
	texts map[string]*bytes.Buffer
}

func (w *written) add(place string, text []byte) {
	w.mu.Lock()
	defer w.mu.Unlock()

	if w.texts[place] == nil {
		w.texts[place] = &bytes.Buffer{}
	}
	w.texts[place].Write(append(text, '\n'))
}

func (w *written) has(place, text string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()

	return w.texts[place] != nil && strings.Contains(w.texts[place].String(), text)
}

// to returns the place as a writer.
func (w *written) to(place string) io.Writer { return writerFunc(func(p []byte) { w.add(place, p) }) }

type writerFunc func([]byte)

func (f writerFunc) Write(p []byte) (int, error) { f(p); return len(p), nil }

// farSides answers each call with an error that repeats its headers and its body, as a careless service does. It takes
// what is exported over OTLP.
func (w *written) farSides(t *testing.T) string {
	t.Helper()

	s := httptest.NewServer(http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if strings.HasPrefix(r.URL.Path, "/otlp/") {
			w.add(r.URL.Path, body)
			return
		}
		w.add("asked", []byte(r.URL.Path+" "+r.Header.Get("Authorization")))

		echo := fmt.Sprintf("%.150q", r.Header.Get("Authorization"))
		out.Header().Set("Content-Type", "application/json")
		out.WriteHeader(http.StatusInternalServerError)
		fmt.Fprintf(out, `{"code":%s,"detail":%s,"error":%s}`, echo, echo, echo)
	}))
	t.Cleanup(s.Close)

	return s.URL
}

// markedSecrets returns a configuration with a marked text in each setting that is a secret, and the marks in every
// form in which they may be written.
func markedSecrets(far string) (cfg server.Config, forms []string) {
	n := 0
	mark := func(setting func(mark string) string) server.Secret {
		n++
		text := fmt.Sprintf("marked-%02d-secret-of-32-characters", n)
		value := setting(text)

		for _, one := range []string{text, value} {
			forms = append(forms, one, base64.StdEncoding.EncodeToString([]byte(one)), url.QueryEscape(one))
		}

		return server.Secret(value)
	}
	plain := func(text string) string { return text }
	coded := func(text string) string { return base64.StdEncoding.EncodeToString([]byte(text)) }

	cfg = server.Config{
		Notify: far + "/hook", WebhookSecret: mark(func(text string) string { return "whsec_" + coded(text) }),
		CallbackSecret: mark(plain), CarrierSecret: mark(plain),
		Carrier: far, CarrierToken: mark(plain),
		ActionKeys: mark(func(text string) string { return "1:" + coded(text[:32]) }),
		SMTPURL:    mark(func(text string) string { return "smtp://user:" + text + "@127.0.0.1:1" }), SMTPFrom: "shop@example.com",
		API:     server.APIConfig{Issuer: far + "/issuer", Audience: "ratchet", Listen: "127.0.0.1:0"},
		Console: server.ConsoleConfig{ClientID: "console", ClientSecret: mark(plain), Secret: mark(plain)},
		Tracing: server.TracingConfig{Endpoint: far + "/otlp"},
	}

	return cfg, forms
}

// TestNoSecretOfASettingIsWritten runs a whole system whose far sides fail and repeat what they were sent, and searches
// the log as text and as JSON, what is exported, the metrics, the figures, each answer of the API, of questions and jobs
// too, the console's pages, and every table.
func TestNoSecretOfASettingIsWritten(t *testing.T) {
	w := &written{texts: map[string]*bytes.Buffer{}}
	cfg, forms := markedSecrets(w.farSides(t))
	cfg.AdminListen = "127.0.0.1:0"
	cfg.Tracing.Figures, cfg.Tracing.FiguresTo = true, w.to("figures")

	log := slog.New(slog.NewMultiHandler(
		slog.NewTextHandler(w.to("text"), &slog.HandlerOptions{Level: slog.LevelDebug}),
		slog.NewJSONHandler(w.to("json"), &slog.HandlerOptions{Level: slog.LevelDebug})))

	// The last cleanup: what is written at the end is searched, too.
	t.Cleanup(func() {
		for place, text := range w.texts {
			if place == "asked" {
				continue
			}

			for _, form := range forms {
				if at := bytes.Index(text.Bytes(), []byte(form)); at >= 0 {
					t.Errorf("%s has a secret: %q", place, text.Bytes()[max(at-200, 0):min(at+60, text.Len())])
				}
			}
		}

		for _, place := range []string{"text", "json", "/otlp/v1/traces", "/otlp/v1/logs", "table ratchet-orders", "/metrics", "figures"} {
			if w.texts[place] == nil {
				t.Errorf("nothing was written to %s", place)
			}
		}
	})

	env := ratchettest.Start(t, ratchettest.Config{Server: cfg, Log: log})
	b := env.Backend

	_, err := b.Endpoints.Create(t.Context(), "mail", notify.Settings{Destination: "mailto:warehouse@example.com"}, nil)
	if err != nil {
		t.Fatal(err)
	}

	if _, err := b.Orders.Create(t.Context(), transitions.NewOrder{ID: "o-1", Total: transitions.Money{Amount: 5, Currency: "EUR"}}); err != nil {
		t.Fatal(err)
	}
	env.Apply(transitions.Request{OrderID: "o-1", Event: workflow.Pay, RequestID: "pay"}, transitions.Applied)

	env.Wait("calls of the carrier and the receiver, and an e-mail that fails", func() (bool, string, error) {
		all := w.has("asked", "/shipments/") && w.has("asked", "/hook")
		w.tables(t, b)

		return all && w.has("table "+b.Tables.Deliveries, "127.0.0.1"), "", nil
	})

	admin := startAdmin(t.Context(), t, b)
	for _, path := range []string{"/metrics", "/readyz", "/debug/pprof/cmdline", "/debug/pprof/goroutine?debug=2"} {
		_, body := ask(t, admin.URL()+path, "")
		w.add(path, []byte(body))
	}

	w.answers(t, b)

	status, err := b.Status(t.Context())
	w.add("status", fmt.Appendf(nil, "%+v %v", status, err))
	w.add("configuration", fmt.Appendf(nil, "%+v %#v", b.Config, b.Config))
	w.tables(t, b)
}

// answers adds what the API and the console say: of jobs and questions that are begun here, of each address in the
// document, and of each page that the console's pages lead to.
func (w *written) answers(t *testing.T, b *server.Backend) {
	t.Helper()

	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}

	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- b.ServeAPI(ctx, listener, true) }()

	defer func() {
		http.DefaultClient.CloseIdleConnections()
		stop()

		if err := <-ended; err != nil {
			t.Error(err)
		}
	}()

	base := "http://" + listener.Addr().String()
	send := func(method, path, body string) (int, string) {
		r, err := http.NewRequestWithContext(t.Context(), method, base+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/json")

		status, text := fetch(t, http.DefaultClient, r)
		w.add(method+" "+path, []byte(text))

		return status, text
	}

	for _, question := range []string{"doctor", "survey", "unsettled", "verify"} {
		if status, text := send(http.MethodPost, "/v1/questions/"+question, ""); status != http.StatusAccepted && status != http.StatusTooManyRequests {
			t.Errorf("%s: %d %s", question, status, text)
		}
	}

	status, text := send(http.MethodPost, "/v1/jobs", `{"kind":"deliveries-resend","filter":{"endpoint":"mail"},"reason":"marked"}`)

	var job struct{ ID string }
	if err := json.Unmarshal([]byte(text), &job); status != http.StatusCreated && status != http.StatusOK || err != nil {
		t.Errorf("a job: %d %s", status, text)
	}

	var document struct {
		Paths map[string]map[string]json.RawMessage
	}

	_, text = send(http.MethodGet, "/openapi.json", "")
	if err := json.Unmarshal([]byte(text), &document); err != nil {
		t.Fatal(err)
	}

	found := 0
	ids := strings.NewReplacer("{orderId}", "o-1", "{order}", "o-1", "{endpoint}", "mail", "{job}", job.ID, "{question}", "survey", "{sku}", "mug")

	for path, methods := range document.Paths {
		// A stream of events does not end.
		if get := methods["get"]; get == nil || bytes.Contains(get, []byte("text/event-stream")) {
			continue
		}

		if status, _ := send(http.MethodGet, ids.Replace(path), ""); status == http.StatusOK {
			found++
		}
	}

	if found < 15 {
		t.Errorf("%d addresses of the API had an answer", found)
	}

	pages := []string{"/console"}
	for i := 0; i < len(pages); i++ {
		_, text := send(http.MethodGet, pages[i], "")

		for _, link := range consoleLink.FindAllStringSubmatch(text, -1) {
			// The documents say nothing of this installation.
			path := html.UnescapeString(link[1])
			if !strings.Contains(path, "/docs") && !slices.Contains(pages, path) && len(pages) < 60 {
				pages = append(pages, path)
			}
		}
	}

	if len(pages) < 10 {
		t.Errorf("the console has the pages %v", pages)
	}
}

// consoleLink is a link to a page of the console.
var consoleLink = regexp.MustCompile(`href="(/console[^"#]*)`)

// tables adds the items of every table.
func (w *written) tables(t *testing.T, b *server.Backend) {
	t.Helper()

	out, err := b.DynamoDB.ListTables(t.Context(), &dynamodb.ListTablesInput{})
	if err != nil {
		t.Fatal(err)
	}

	for _, table := range out.TableNames {
		scan(t, b.DynamoDB, table, func(item map[string]types.AttributeValue) {
			for name, value := range item {
				w.add("table "+table, []byte(name+" "+textOf(value)))
			}
		})
	}
}

// textOf returns the texts and bytes in a value.
func textOf(v types.AttributeValue) string {
	switch v := v.(type) {
	case *types.AttributeValueMemberS:
		return v.Value
	case *types.AttributeValueMemberB:
		return string(v.Value)
	case *types.AttributeValueMemberL:
		var all strings.Builder
		for _, one := range v.Value {
			all.WriteString(textOf(one) + " ")
		}

		return all.String()
	case *types.AttributeValueMemberM:
		var all strings.Builder
		for name, one := range v.Value {
			all.WriteString(name + " " + textOf(one) + " ")
		}

		return all.String()
	}

	return ""
}
