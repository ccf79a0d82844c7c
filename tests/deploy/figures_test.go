package deploy

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"ratchet/operate/telemetry"
)

// TestAlarmsWatchFiguresThatAreWritten: the alarms on figures of the processes watch exactly those that processes write,
// with their prefix, and a service writes them. Only a lag that is missing is an alarm, since then no worker reads; where
// a function reads the stream, no worker says anything of it, and no alarm expects it.
func TestAlarmsWatchFiguresThatAreWritten(t *testing.T) {
	written := slices.Sorted(slices.Values(telemetry.FigureNames()))

	for reader, want := range map[string][]string{
		"worker": written,
		"lambda": slices.DeleteFunc(slices.Clone(written), func(name string) bool { return strings.HasPrefix(name, "Stream") }),
	} {
		watched := map[string]bool{}
		for name, a := range alarmsOf(t, readTemplate(t, "alarms.yaml", map[string]string{"StreamReader": reader})) {
			figures := a.watches(telemetry.FiguresNamespace)
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
