package system

import (
	"flag"
	"fmt"
	"slices"
	"strings"
	"testing"

	dto "github.com/prometheus/client_model/go"

	"ratchet/operate/telemetry"
	"ratchet/tests/page"
)

var update = flag.Bool("update", false, "write the tables of docs/reference/metrics.md and spans.md, and docs/reference/errors.md")

func TestMetricsOfARunningSystem(t *testing.T) {
	s := startSystem(t)
	s.work(t)

	t.Run("every metric of the catalog and no other", s.showsTheCatalog)
	t.Run("figures of a known story", s.showsTheStory)
	t.Run("the same metrics over OTLP", s.exportsTheCatalog)
	t.Run("promtool reads them and finds no fault", s.passesPromtool)
}

// showsTheCatalog compares names, types, labels and texts. The metrics of Go and of the process
// are Prometheus' own.
func (s *system) showsTheCatalog(t *testing.T) {
	s.eventually(t, func(families map[string]*dto.MetricFamily) (faults []string) {
		known := map[string]bool{}

		for _, m := range telemetry.Metrics() {
			known[m.Name] = true
			if fault := compare(m, families[m.Name]); fault != "" {
				faults = append(faults, fault)
			}
		}

		for name := range families {
			standard := strings.HasPrefix(name, "go_") || strings.HasPrefix(name, "process_") || strings.HasPrefix(name, "promhttp_")
			if !known[name] && !standard {
				faults = append(faults, name+" is not in the catalog")
			}
		}

		return faults
	})
}

// compare returns how a family differs from its description, "" if it does not.
func compare(m telemetry.Metric, family *dto.MetricFamily) string {
	switch {
	case family == nil:
		return m.Name + " is not shown"
	case strings.ToLower(family.GetType().String()) != string(m.Kind):
		return fmt.Sprintf("%s is a %s, want %s", m.Name, family.GetType(), m.Kind)
	case family.GetHelp() != m.Meaning:
		return fmt.Sprintf("%s has the text %q, want %q", m.Name, family.GetHelp(), m.Meaning)
	}

	for _, series := range family.GetMetric() {
		var labels []string
		for _, pair := range series.GetLabel() {
			labels = append(labels, pair.GetName())
		}

		if want := slices.Sorted(slices.Values(m.Labels)); !slices.Equal(labels, want) {
			return fmt.Sprintf("%s has the labels %v, want %v", m.Name, labels, want)
		}
	}

	return ""
}

// showsTheStory compares the numbers with the numbers of the two orders. The labels hold none of their
// ids.
func (s *system) showsTheStory(t *testing.T) {
	wants := []struct {
		name   string
		labels map[string]string
		want   float64
	}{
		{"ratchet_transitions_total", map[string]string{"event": "place", "verdict": "Applied"}, 2},
		{"ratchet_transitions_total", map[string]string{"event": "deliver", "verdict": "Applied"}, 1},
		{"ratchet_transitions_total", map[string]string{"event": "cancel", "verdict": "Applied"}, 1},
		{"ratchet_activity_tasks_total", map[string]string{"activity": "pay", "outcome": "succeeded"}, 1},
		{"ratchet_activity_tasks_in_flight", map[string]string{"activity": "pay"}, 0},
		{"ratchet_payment_calls_total", map[string]string{"step": "charge", "result": "ok"}, 1},
		{"ratchet_stream_handled_total", map[string]string{"handler": "shipping", "result": "ok"}, 1},
		{"ratchet_stream_dead_letters_total", map[string]string{"handler": "shipping"}, 0},
		{"ratchet_notification_attempts_total", map[string]string{"status": "missed"}, 0},
		{"ratchet_http_requests_total", map[string]string{"method": "GET", "route": "/v1/orders/{orderId}", "status": "200"}, 1},
		{"ratchet_http_requests_total", map[string]string{"method": "GET", "route": "none", "status": "404"}, 1},
		{"ratchet_processes", map[string]string{"state": "ready"}, 1},
		{"ratchet_processes", map[string]string{"state": "missing"}, 0},
		{"ratchet_stuck_orders", map[string]string{"kind": "failed"}, 0},
		{"ratchet_aws_throttles_total", map[string]string{"service": "DynamoDB", "operation": "ListTables"}, 1},
		{"ratchet_aws_retries_total", map[string]string{"service": "DynamoDB", "operation": "ListTables"}, 1},
	}

	s.eventually(t, func(families map[string]*dto.MetricFamily) (faults []string) {
		for _, w := range wants {
			if got, shown := value(families[w.name], w.labels); !shown || got != w.want {
				faults = append(faults, fmt.Sprintf("%s%v is %v (shown: %t), want %v", w.name, w.labels, got, shown, w.want))
			}
		}

		if units, _ := value(families["ratchet_dynamodb_capacity_units_total"], map[string]string{"table": "ratchet-orders", "kind": "write"}); units < 6 {
			faults = append(faults, fmt.Sprintf("%v write units of the orders' table, want at least one for each of 6 transitions", units))
		}

		for name, family := range families {
			for _, series := range family.GetMetric() {
				for _, pair := range series.GetLabel() {
					if strings.Contains(pair.GetValue(), "o-1") || strings.Contains(pair.GetValue(), "shardId") {
						faults = append(faults, fmt.Sprintf("%s has the label %s=%q", name, pair.GetName(), pair.GetValue()))
					}
				}
			}
		}

		return faults
	})
}

// value returns the value of a counter or gauge under exactly these labels.
func value(family *dto.MetricFamily, labels map[string]string) (v float64, shown bool) {
	for _, series := range family.GetMetric() {
		matches := len(series.GetLabel()) == len(labels)
		for _, pair := range series.GetLabel() {
			matches = matches && labels[pair.GetName()] == pair.GetValue()
		}

		if matches {
			return series.GetCounter().GetValue() + series.GetGauge().GetValue(), true
		}
	}

	return 0, false
}

// TestThePageListsEveryMetric: -update writes the table.
func TestThePageListsEveryMetric(t *testing.T) {
	var table strings.Builder
	table.WriteString("| metric | type | labels | meaning |\n|---|---|---|---|\n")

	for _, m := range telemetry.Metrics() {
		fmt.Fprintf(&table, "| `%s` | %s | %s | %s |\n", m.Name, m.Kind, strings.Join(m.Labels, ", "), m.Meaning)
	}

	page.HasTable(t, "../../docs/reference/metrics.md", "metrics", table.String(), *update, "go test ./tests/system -run ThePage -update")
}
