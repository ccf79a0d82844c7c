package deploy

import (
	"slices"
	"strings"
	"testing"

	"ratchet/operate/telemetry"
)

// TestAlarmsWatchFiguresThatAreWritten: each alarm on a metric of the processes watches one that they write, with their
// prefix, and nothing that is missing is an alarm: other alarms notice that no process runs. The services write it.
func TestAlarmsWatchFiguresThatAreWritten(t *testing.T) {
	written := telemetry.FigureNames()
	watched := 0
	for name, properties := range readTemplate(t, "alarms.yaml", nil).ofType("AWS::CloudWatch::Alarm") {
		p := decode[struct {
			Namespace, MetricName, TreatMissingData string
			Dimensions                              []struct{ Name, Value string }
		}](t, properties)
		if p.Namespace != telemetry.FiguresNamespace {
			continue
		}
		watched++

		if !slices.Contains(written, p.MetricName) || p.TreatMissingData != "notBreaching" || len(p.Dimensions) != 1 || p.Dimensions[0].Name != "Prefix" || p.Dimensions[0].Value != prefix {
			t.Errorf("%s watches %+v, and processes write %q", name, p, written)
		}
	}

	if watched != len(written) {
		t.Errorf("%d alarms watch %q", watched, written)
	}

	for kind, file := range map[string]string{"cloudformation": "service.yaml", "terraform": "service.tf"} {
		if text := readText(t, root+"/"+kind+"/"+file); !strings.Contains(text, "RATCHET_CLOUDWATCH_FIGURES") {
			t.Errorf("%s: the service does not write them", file)
		}
	}
}
