package server_test

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
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
	mark := func(make func(mark string) string) server.Secret {
		n++
		text := fmt.Sprintf("marked-%02d-secret-of-32-characters", n)
		setting := make(text)

		for _, one := range []string{text, setting} {
			forms = append(forms, one, base64.StdEncoding.EncodeToString([]byte(one)), url.QueryEscape(one))
		}

		return server.Secret(setting)
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
// the log as text and as JSON, what is exported, the metrics, the answers of the API and every table.
func TestNoSecretOfASettingIsWritten(t *testing.T) {
	w := &written{texts: map[string]*bytes.Buffer{}}
	cfg, forms := markedSecrets(w.farSides(t))
	cfg.AdminListen = "127.0.0.1:0"

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

		for _, place := range []string{"text", "json", "/otlp/v1/traces", "/otlp/v1/logs", "table ratchet-orders", "/metrics"} {
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

	status, err := b.Status(t.Context())
	w.add("status", fmt.Appendf(nil, "%+v %v", status, err))
	w.add("configuration", fmt.Appendf(nil, "%+v %#v", b.Config, b.Config))
	w.tables(t, b)
}

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
