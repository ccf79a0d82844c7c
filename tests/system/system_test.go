// Package system tests what needs a whole server: the points among the 52 of docs/internals/points.md that need several
// packages; that a person is erased, and no trace of the person stays; what a system shows of itself against the
// catalog of metrics, the page docs/operate/monitoring.md, the dashboard and the alert rules; what processes of Ratchet
// export over OTLP, traces, metrics and logs (trace_*_test.go): `ratchet serve` and `ratchet worker` send them to a
// receiver, all three processes of their own, made of this test's binary; and that the API answers the examples of
// docs/guides/api.md, the pages that it lists and docs/guides/http.md as the pages say (api_*_test.go).
package system

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"go.uber.org/goleak"

	"ratchet/cmd/cli"
	"ratchet/embedded/embeddedtest"
	"ratchet/server"
	"ratchet/server/ratchettest"
	"ratchet/transitions"
	"ratchet/workflow"
)

// envRole has what a process of this test's binary is, unless it runs the tests.
const envRole = "SYSTEM_TEST_ROLE"

func TestMain(m *testing.M) {
	switch os.Getenv(envRole) {
	case "ratchet":
		cli.Main(server.Parts{})
	case "receiver":
		fmt.Fprintln(os.Stderr, receive())
		os.Exit(1)
	default:
		goleak.VerifyTestMain(m)
	}
}

// system runs a whole Ratchet with its admin listener.
type system struct {
	*ratchettest.Env
	url string // of the admin listener
	far *receiver
}

func startSystem(t *testing.T) *system {
	t.Helper()

	t.Setenv("OTEL_METRIC_EXPORT_INTERVAL", "100") // milliseconds

	far := startReceiver(t)
	env := ratchettest.Start(t, ratchettest.Config{Server: server.Config{
		RequestsQueue: "requests",
		ExpireUnpaid:  time.Hour,
		AdminListen:   "127.0.0.1:0",
		Tracing:       server.TracingConfig{Endpoint: far.url},
	}})

	admin, err := env.Backend.StartAdmin(t.Context())
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() {
		if err := admin.Close(); err != nil {
			t.Error(err)
		}
		http.DefaultClient.CloseIdleConnections()
	})

	return &system{Env: env, url: admin.URL(), far: far}
}

// work makes something happen in every part: an order that is delivered, an order that is canceled
// for want of stock, a request through the queue, requests to the API, and a call that AWS throttles.
func (s *system) work(t *testing.T) {
	t.Helper()

	s.SetStock("mug", 1)
	s.Execute(ratchettest.NewOrder("o-1", "mug"))
	s.WantOrder("o-1", workflow.Delivered, 4)
	s.Execute(ratchettest.NewOrder("o-2", "mug"))
	s.WantOrder("o-2", workflow.Cancelled, 2)

	if _, err := s.Backend.Request(t.Context(), transitions.Request{OrderID: "o-1", Event: workflow.Cancel, RequestID: "late"}); err != nil {
		t.Fatal(err)
	}

	handler, err := s.Backend.APIHandler(t.Context(), true, io.Discard)
	if err != nil {
		t.Fatal(err)
	}

	for _, path := range []string{"/v1/orders/o-1", "/nothing"} {
		handler.ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(t.Context(), http.MethodGet, "http://localhost"+path, nil))
	}

	if _, err := s.Backend.CountStuck(t.Context(), true); err != nil {
		t.Fatal(err)
	}

	cfg := s.Backend.Engine.AWSConfig()
	cfg.Retryer = embeddedtest.RetryAtOnce
	embeddedtest.Intercept(&cfg).Inject(embeddedtest.Throttle("ListTables").Next(1))
	s.Backend.Telemetry.MeasureAWS(&cfg)

	if _, err := dynamodb.NewFromConfig(cfg).ListTables(t.Context(), &dynamodb.ListTablesInput{Limit: aws.Int32(1)}); err != nil {
		t.Fatal(err)
	}
}

// page asks for the figures as Prometheus does.
func (s *system) page(t *testing.T) []byte {
	t.Helper()

	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.url+"/metrics", nil)
	if err != nil {
		t.Fatal(err)
	}

	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()

	text, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != http.StatusOK {
		t.Fatalf("status %d, error %v", answer.StatusCode, err)
	}

	return text
}

// scrape parses the figures with Prometheus' parser.
func (s *system) scrape(t *testing.T) map[string]*dto.MetricFamily {
	t.Helper()

	parser := expfmt.NewTextParser(model.LegacyValidation)

	families, err := parser.TextToMetricFamilies(bytes.NewReader(s.page(t)))
	if err != nil {
		t.Fatal(err)
	}

	return families
}

// eventually scrapes until check returns nothing. If it does not, the last findings fail the test.
func (s *system) eventually(t *testing.T, check func(map[string]*dto.MetricFamily) []string) {
	t.Helper()

	s.With(t).Wait("the figures", func() (bool, string, error) {
		faults := check(s.scrape(t))
		return len(faults) == 0, strings.Join(faults, "\n"), nil
	})
}
