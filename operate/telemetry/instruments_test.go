package telemetry

import (
	"strconv"
	"testing"

	"go.opentelemetry.io/otel/metric"
	sdk "go.opentelemetry.io/otel/sdk/metric"
)

// TestAKnownSeriesHasItsAttributes: an event makes no new ones, whatever series came between.
func TestAKnownSeriesHasItsAttributes(t *testing.T) {
	m := meter{Meter: sdk.NewMeterProvider().Meter("test")}
	c := m.counter([]Metric{{Name: "calls_total", Kind: Counter, Labels: []string{"of", "outcome"}}}, "calls_total")

	c.inc("put", "ok")
	c.inc("put", "error")

	// What is left is the call's list of options.
	if made := testing.AllocsPerRun(100, func() { c.inc("put", "ok") }); made > 2 {
		t.Errorf("an event of a known series makes %v objects", made)
	}

	for _, values := range [][]string{{"put", "ok"}, {"put", "error"}} {
		want := attributes(c.labels, values)
		if got := metric.NewAddConfig([]metric.AddOption{c.of(values)}).Attributes(); !got.Equals(&want) {
			t.Errorf("%v has the attributes %v", values, got.ToSlice())
		}
	}
}

// TestSeriesAreBounded: those after the most are counted, and not kept.
func TestSeriesAreBounded(t *testing.T) {
	t.Parallel()

	s := series{labels: []string{"name"}}
	for i := range mostSeries + 10 {
		name := strconv.Itoa(i)

		set := metric.NewAddConfig([]metric.AddOption{s.of([]string{name})}).Attributes()
		if value, _ := set.Value("name"); value.AsString() != name {
			t.Fatalf("%s is counted as %s", name, value.AsString())
		}
	}

	if len(s.kept) != mostSeries {
		t.Errorf("%d series are kept", len(s.kept))
	}
}
