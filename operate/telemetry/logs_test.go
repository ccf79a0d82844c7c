package telemetry_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"strings"
	"testing"
	"time"

	common "go.opentelemetry.io/proto/otlp/common/v1"
	otlp "go.opentelemetry.io/proto/otlp/logs/v1"

	"ratchet/notify/webhooks"
	"ratchet/operate/telemetry"
	"ratchet/queues"
	"ratchet/transitions"
	"ratchet/workflow"
)

// logsOf exports the lines of write, and returns them with the same lines of the JSON log at level
// info.
func logsOf(t *testing.T, write func(*telemetry.Tracing, *slog.Logger)) (lines []*otlp.LogRecord, written string) {
	t.Helper()
	withoutSettings(t)

	var out bytes.Buffer
	far, figures := startReceiver(t, nil), newTelemetry(t)
	tracing := trace(t, figures, far.url)

	logs, err := figures.StartLogs(telemetry.ExportConfig{Endpoint: far.url})
	if err != nil {
		t.Fatal(err)
	}
	write(tracing, logs.Logger(slog.New(slog.NewJSONHandler(&out, nil))))
	logs.Close()

	if n := countOf(t, figures, "ratchet_log_records_total", "exported"); n != len(far.lines) {
		t.Errorf("%d lines are counted, %d were sent", n, len(far.lines))
	}

	return far.lines, out.String()
}

// TestALineIsExportedWithItsTrace: it has the attributes of the JSON log, and is exported only if
// that log takes it.
func TestALineIsExportedWithItsTrace(t *testing.T) {
	var parent string

	lines, _ := logsOf(t, func(tracing *telemetry.Tracing, log *slog.Logger) {
		ctx, stored, end := tracing.OrderEvents(workflow.Order(), transitions.Events{}).Begin(t.Context(), "o-1", workflow.Pay, "")
		log.DebugContext(ctx, "hidden")
		log.WarnContext(ctx, "transition", "order", transitions.OrderID("o-1"), "transition", transitions.TransitionID(2))
		log.InfoContext(t.Context(), "without a span")
		end(transitions.Result{}, nil)
		parent = stored
	})

	if len(lines) != 2 {
		t.Fatalf("%d lines, want 2: %v", len(lines), lines)
	}

	line := lines[0]
	if got := fmt.Sprintf("00-%x-%x-01", line.GetTraceId(), line.GetSpanId()); got != parent {
		t.Errorf("the line is of %s, want %s", got, parent)
	}

	if line.GetBody().GetStringValue() != "transition" || line.GetSeverityText() != "WARN" || line.GetSeverityNumber() != otlp.SeverityNumber_SEVERITY_NUMBER_WARN {
		t.Errorf("the line is %v", line)
	}

	if got := attributes(line.GetAttributes()); got["order"] != "o-1" || got["transition"] != "2" {
		t.Errorf("the attributes are %v", got)
	}

	if len(lines[1].GetTraceId()) != 0 {
		t.Errorf("a line without a span has a trace: %v", lines[1])
	}
}

// attributes returns attributes as texts, with the name of the group before the members of a group.
func attributes(all []*common.KeyValue) map[string]string {
	texts := map[string]string{}

	for _, a := range all {
		switch v := a.GetValue().GetValue().(type) {
		case *common.AnyValue_StringValue:
			texts[a.GetKey()] = v.StringValue
		case *common.AnyValue_IntValue:
			texts[a.GetKey()] = fmt.Sprint(v.IntValue)
		case *common.AnyValue_BoolValue:
			texts[a.GetKey()] = fmt.Sprint(v.BoolValue)
		case *common.AnyValue_KvlistValue:
			for name, text := range attributes(v.KvlistValue.GetValues()) {
				texts[a.GetKey()+"."+name] = text
			}
		default:
			texts[a.GetKey()] = fmt.Sprintf("%T", v)
		}
	}

	return texts
}

// panics is an error whose method panics.
type panics struct{}

func (panics) Error() string { panic("broken") }

// TestAnExportedLineHasTheValuesOfTheJSONLog: values of all kinds, and none that the log hides.
func TestAnExportedLineHasTheValuesOfTheJSONLog(t *testing.T) {
	secret := webhooks.NewSecret()

	lines, written := logsOf(t, func(_ *telemetry.Tracing, log *slog.Logger) {
		log = log.With("secret", secret, "verdict", transitions.Applied).WithGroup("of").With("at", time.Unix(1, 0).UTC())
		log.InfoContext(t.Context(), "line",
			"err", fmt.Errorf("wrapped: %w", errors.New("reason")),
			"no", error(nil),
			"nil", (*fs.PathError)(nil),
			"panic", panics{},
			"took", 3*time.Millisecond,
			"done", true,
			"address", transitions.Address{"name": "Erika"},
			"message", queues.Message{ID: "m-1", Queue: "requests", Body: "Erika"},
			"orders", []transitions.OrderID{"o-1", "o-2"},
			slog.Group("inner", "state", workflow.Shipped))
	})

	if len(lines) != 1 {
		t.Fatalf("%d lines, want 1", len(lines))
	}
	got := attributes(lines[0].GetAttributes())

	// The JSON line has the same values; only the time has another form.
	var shown map[string]any
	if err := json.Unmarshal([]byte(written), &shown); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{}
	flatten("", shown, want)

	for _, own := range []string{"time", "level", "msg", "of.no"} {
		delete(want, own)
	}

	for name, value := range want {
		if got[name] != value {
			t.Errorf("%s is %q, want %q as in the JSON log", name, got[name], value)
		}
	}

	if len(got) != len(want) {
		t.Errorf("exported %v, written %v", got, want)
	}

	for _, hidden := range []string{"Erika", secret.Reveal()} {
		if strings.Contains(lines[0].String()+written, hidden) {
			t.Errorf("the line holds %q", hidden)
		}
	}
}

func flatten(prefix string, members map[string]any, into map[string]string) {
	for name, value := range members {
		switch v := value.(type) {
		case map[string]any:
			flatten(prefix+name+".", v, into)
		case string:
			into[prefix+name] = v
		default:
			text, _ := json.Marshal(v)
			into[prefix+name] = string(text)
		}
	}
}
