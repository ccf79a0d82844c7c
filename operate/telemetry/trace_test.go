package telemetry_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"go.uber.org/goleak"

	"ratchet/activities"
	"ratchet/notify"
	"ratchet/operate/telemetry"
	"ratchet/transitions"
	"ratchet/workflow"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const traceparent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"

func newTelemetry(t *testing.T) *telemetry.Telemetry {
	t.Helper()

	figures, err := telemetry.New(telemetry.ExportConfig{Endpoint: telemetry.ExportOff})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := figures.Close(); err != nil {
			t.Error(err)
		}
	})

	return figures
}

// trace returns a Tracing as another process would have it.
func trace(t *testing.T, figures *telemetry.Telemetry, to string) *telemetry.Tracing {
	t.Helper()

	tracing, err := figures.StartTracing(telemetry.ExportConfig{Endpoint: to, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(tracing.Close)

	return tracing
}

// count returns ratchet_trace_spans_total of a result.
func count(t *testing.T, figures *telemetry.Telemetry, result string) int {
	t.Helper()
	return countOf(t, figures, "ratchet_trace_spans_total", result)
}

// countOf returns a counter whose only label is the result.
func countOf(t *testing.T, figures *telemetry.Telemetry, counter, result string) int {
	t.Helper()

	answer := httptest.NewRecorder()
	figures.Handler().ServeHTTP(answer, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", nil))

	parser := expfmt.NewTextParser(model.LegacyValidation)

	families, err := parser.TextToMetricFamilies(answer.Body)
	if err != nil {
		t.Fatal(err)
	}

	for _, series := range families[counter].GetMetric() {
		if series.GetLabel()[0].GetValue() == result {
			return int(series.GetCounter().GetValue())
		}
	}

	t.Fatalf("no figure %s of %s", counter, result)

	return 0
}

// decide makes one span.
func decide(ctx context.Context, tracing *telemetry.Tracing) string {
	events := tracing.OrderEvents(workflow.Order(), transitions.Events{})
	_, stored, end := events.Begin(ctx, "o-1", workflow.Pay, "")
	end(transitions.Result{Verdict: transitions.Applied}, nil)

	return stored
}

// TestAReceiverThatIsDownIsReported: it is counted, and logged once.
//
//raced:here
func TestAReceiverThatIsDownIsReported(t *testing.T) {
	t.Setenv("OTEL_BSP_MAX_EXPORT_BATCH_SIZE", "10")

	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()

	var log bytes.Buffer
	figures := newTelemetry(t)

	tracing, err := figures.StartTracing(telemetry.ExportConfig{Endpoint: gone.URL, Log: slog.New(slog.NewTextHandler(&log, nil))})
	if err != nil {
		t.Fatal(err)
	}

	for range 50 {
		decide(t.Context(), tracing)
	}
	tracing.Close()

	if n := count(t, figures, "failed"); n != 50 {
		t.Errorf("%d spans have failed, want 50", n)
	}

	if n := strings.Count(log.String(), "spans were not exported"); n != 1 {
		t.Errorf("%d warnings:\n%s", n, &log)
	}
}

// TestAnotherProcessLinksItsRetry: it links to the first attempt, whose span it computes without a
// record.
func TestAnotherProcessLinksItsRetry(t *testing.T) {
	figures, far := newTelemetry(t), startReceiver(t, nil)
	change := deliverySpanOf(t, trace(t, figures, far.url))

	one, other := trace(t, figures, far.url), trace(t, figures, far.url)
	deliver(one, change, 1)
	deliver(other, change, 2)

	change.Resends = 1
	deliver(other, change, 1)

	for _, tracing := range []*telemetry.Tracing{one, other} {
		tracing.Close()
	}

	spans := far.named("deliver")
	if len(spans) != 3 {
		t.Fatalf("%d spans, want 3", len(spans))
	}

	for _, retry := range spans[1:] {
		links := retry.GetLinks()
		if len(links) != 1 || !bytes.Equal(links[0].GetSpanId(), spans[0].GetSpanId()) || bytes.Equal(retry.GetSpanId(), spans[0].GetSpanId()) {
			t.Errorf("the retry %x has the links %v, want one to %x", retry.GetSpanId(), links, spans[0].GetSpanId())
		}

		if !bytes.Equal(retry.GetTraceId(), spans[0].GetTraceId()) || !bytes.Equal(retry.GetParentSpanId(), spans[0].GetParentSpanId()) {
			t.Errorf("the retry stands elsewhere: %v", retry)
		}
	}
}

func deliverySpanOf(t *testing.T, tracing *telemetry.Tracing) notify.Delivery {
	t.Helper()

	return notify.Delivery{Endpoint: "e", Notification: notify.Notification{
		Key:          "o-1/0/2/notify",
		OrderID:      "o-1",
		Incarnation:  "0",
		TransitionID: 2,
		Cause:        transitions.Cause{Trace: decide(t.Context(), tracing)},
	}}
}

func deliver(tracing *telemetry.Tracing, d notify.Delivery, attempt int) {
	d.Attempts = attempt
	_, end := tracing.NotifyEvents(notify.Events{}).Attempting(context.Background(), d)
	end(notify.Answer{Status: 500}, errors.New("answered 500"))
}

// TestARetriedTaskIsLinkedToItsFirstAttempt: in the same process, until an attempt succeeds. The
// last attempt panics.
func TestARetriedTaskIsLinkedToItsFirstAttempt(t *testing.T) {
	figures, far := newTelemetry(t), startReceiver(t, nil)
	tracing := trace(t, figures, far.url)
	task := activities.Task{Activity: "pay", Input: []byte(`{"orderId":"o-1","transitionId":2,"name":"Erika"}`)}

	for _, err := range []error{activities.Fail("Bank.Down", errors.New("Erika")), errors.New("Erika"), nil, nil} {
		handle := tracing.Activity(func(context.Context, activities.Task) (any, error) { return nil, err })
		if _, got := handle(t.Context(), task); !errors.Is(got, err) {
			t.Fatal(got)
		}
	}

	func() {
		defer func() { _ = recover() }()
		_, _ = tracing.Activity(func(context.Context, activities.Task) (any, error) { panic("Erika") })(t.Context(), task)
	}()
	tracing.Close()

	spans := far.named("activity pay")
	if len(spans) != 5 {
		t.Fatalf("%d spans, want 5", len(spans))
	}

	for i, links := range []int{0, 1, 1, 0, 0} {
		got := spans[i].GetLinks()
		if len(got) != links || links == 1 && !bytes.Equal(got[0].GetSpanId(), spans[0].GetSpanId()) {
			t.Errorf("attempt %d has the links %v, want %d", i+1, got, links)
		}

		if strings.Contains(spans[i].String(), "Erika") {
			t.Errorf("attempt %d says what is not for traces: %v", i+1, spans[i])
		}
	}

	if !strings.Contains(spans[0].String(), "Bank.Down") || !strings.Contains(spans[1].String(), "_OTHER") || !strings.Contains(spans[4].String(), `"panic"`) {
		t.Errorf("classes of errors are missing: %v, %v", spans[0], spans[1])
	}
}

// TestADecisionContinuesTheTraceOfItsCause: if no span is around it, as for a request from a queue.
// The decision's own span is stored, also if it was not sampled, so that its reactions are not
// sampled either.
func TestADecisionContinuesTheTraceOfItsCause(t *testing.T) {
	far := startReceiver(t, nil)
	tracing := trace(t, newTelemetry(t), far.url)

	for cause, want := range map[string]string{
		traceparent: "00-4bf92f3577b34da6a3ce929d0e0e4736-.*-01",
		strings.TrimSuffix(traceparent, "1") + "0": "00-4bf92f3577b34da6a3ce929d0e0e4736-.*-00",
	} {
		_, stored, end := tracing.OrderEvents(workflow.Order(), transitions.Events{}).Begin(t.Context(), "o-1", workflow.Pay, cause)
		end(transitions.Result{}, nil)

		if stored == cause || !strings.HasPrefix(stored, want[:36]) || !strings.HasSuffix(stored, want[len(want)-3:]) || !transitions.ValidTrace(stored) {
			t.Errorf("stored %q of %q, want %s", stored, cause, want)
		}
	}
	tracing.Close()

	if n := len(far.named("apply pay")); n != 1 {
		t.Errorf("%d spans, want that of the sampled one", n)
	}
}
