package telemetry

import (
	"fmt"

	dto "github.com/prometheus/client_model/go"
)

// Totals are the counters of a process at one moment.
type Totals map[string]*dto.MetricFamily

// Totals returns the counters as they are now.
func (t *Telemetry) Totals() (Totals, error) {
	families, err := t.registry.Gather()
	if err != nil {
		return nil, fmt.Errorf("telemetry: %w", err)
	}

	all := make(Totals, len(families))
	for _, family := range families {
		all[family.GetName()] = family
	}

	return all, nil
}

// Sum adds up the counter over all series that have the labels, which are pairs of name and value.
func (t Totals) Sum(counter string, labels ...string) float64 {
	return t.sumOf(counter, having(labels...))
}

// sumOf adds up the counter over all series whose labels match.
func (t Totals) sumOf(counter string, matches labelMatch) (sum float64) {
	labels := map[string]string{}
	for _, series := range t[counter].GetMetric() {
		clear(labels)

		for _, pair := range series.GetLabel() {
			labels[pair.GetName()] = pair.GetValue()
		}

		if matches(labels) {
			sum += series.GetCounter().GetValue()
		}
	}

	return sum
}

// labelMatch selects series by their labels.
type labelMatch func(labels map[string]string) bool

// having selects the series that have the labels, which are pairs of name and value.
func having(pairs ...string) labelMatch {
	return func(labels map[string]string) bool {
		// A last name without a value is ignored.
		for i := 0; i+1 < len(pairs); i += 2 {
			if labels[pairs[i]] != pairs[i+1] {
				return false
			}
		}

		return true
	}
}
