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
func (t Totals) Sum(counter string, labels ...string) (sum float64) {
	for _, series := range t[counter].GetMetric() {
		if hasLabels(series, labels) {
			sum += series.GetCounter().GetValue()
		}
	}

	return sum
}

func hasLabels(series *dto.Metric, labels []string) bool {
	values := map[string]string{}
	for _, pair := range series.GetLabel() {
		values[pair.GetName()] = pair.GetValue()
	}

	// Pairs; a last name without a value is ignored.
	for i := 0; i+1 < len(labels); i += 2 {
		if values[labels[i]] != labels[i+1] {
			return false
		}
	}

	return true
}
