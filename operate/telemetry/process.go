package telemetry

import (
	"runtime"

	"ratchet/internal/buildinfo"
)

var processMetrics = []Metric{
	{"ratchet_build_info", Gauge, []string{"version", "go_version"}, "Always 1; the labels say what runs"},
}

func observeProcess(m *meter) {
	m.gauge(processMetrics, "ratchet_build_info", func(observe func(float64, ...string)) {
		observe(1, buildinfo.Version(), runtime.Version())
	})
}
