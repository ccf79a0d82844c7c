package deploy

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"ratchet/operate/telemetry"
	"ratchet/streams"
)

// writtenFigures returns the namespace and the names of the figures that a process writes which reads a shard and answers
// requests.
func writtenFigures(t *testing.T) (namespace string, names []string) {
	t.Helper()

	of, err := telemetry.New(telemetry.ExportConfig{Endpoint: telemetry.ExportOff})
	if err != nil {
		t.Fatal(err)
	}
	defer of.Close()

	defer of.ObserveStream(func() []streams.Lag { return []streams.Lag{{}} })()

	of.Served(httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/v1/orders", nil), "GET /v1/orders", http.Header{}, http.StatusOK, time.Millisecond)

	ended, end := context.WithCancel(t.Context())
	end()

	var out bytes.Buffer
	telemetry.WriteFigures(ended, of, &out, prefix)

	var line struct {
		AWS struct {
			CloudWatchMetrics []struct {
				Namespace string
				Metrics   []struct{ Name string }
			}
		} `json:"_aws"`
	}
	if err := json.Unmarshal(out.Bytes(), &line); err != nil || len(line.AWS.CloudWatchMetrics) != 1 {
		t.Fatalf("%s: %v", out.Bytes(), err)
	}

	for _, m := range line.AWS.CloudWatchMetrics[0].Metrics {
		names = append(names, m.Name)
	}
	slices.Sort(names)

	return line.AWS.CloudWatchMetrics[0].Namespace, names
}

// TestAlarmsWatchFiguresThatAreWritten: the alarms on figures of the processes watch exactly those that processes write,
// with their prefix, and a service writes them. Only a lag that is missing is an alarm, since then no worker reads; where
// a function reads the stream, no worker says anything of it, and no alarm expects it.
func TestAlarmsWatchFiguresThatAreWritten(t *testing.T) {
	namespace, written := writtenFigures(t)

	for reader, want := range map[string][]string{
		"worker": written,
		"lambda": slices.DeleteFunc(slices.Clone(written), func(name string) bool { return strings.HasPrefix(name, "Stream") }),
	} {
		watched := map[string]bool{}
		for name, a := range alarmsOf(t, readTemplate(t, "alarms.yaml", map[string]string{"StreamReader": reader})) {
			figures := a.watches(namespace)
			for _, figure := range figures {
				watched[figure] = true
			}

			if len(figures) == 0 {
				continue
			}

			if missing := a.Missing == "breaching"; missing != (name == "stream-lag") {
				t.Errorf("%s: missing figures are %s", name, a.Missing)
			}

			for _, m := range append(slices.Collect(maps.Values(a.Metrics)), alarmMetric{a.Namespace, a.Metric, a.Dimensions}) {
				if m.Namespace != "" && !maps.Equal(m.Dimensions, map[string]string{"Prefix": prefix}) {
					t.Errorf("%s: %s is written with the prefix, and watched with %v", name, m.Metric, m.Dimensions)
				}
			}
		}

		if got := slices.Sorted(maps.Keys(watched)); !slices.Equal(got, want) {
			t.Errorf("a %s reads the stream: alarms watch %q, processes write %q", reader, got, want)
		}
	}

	for kind, file := range map[string]string{"cloudformation": "service.yaml", "terraform": "service.tf"} {
		if text := readText(t, root+"/"+kind+"/"+file); !strings.Contains(text, "RATCHET_CLOUDWATCH_FIGURES") {
			t.Errorf("%s: the service does not write them", file)
		}
	}
}
