package main

import (
	"testing"
	"time"
)

func BenchmarkTasks(b *testing.B) {
	for _, row := range []struct {
		name string
		do   func(int64) error
	}{
		{"worker", func(n int64) error { return serveTasks(b.Context(), n) }},
		{"loop", func(n int64) error { return loopTasks(b.Context(), n) }},
	} {
		b.Run(row.name, func(b *testing.B) {
			b.ReportAllocs()
			before := now()

			if err := row.do(int64(b.N)); err != nil {
				b.Fatal(err)
			}
			b.ReportMetric((now().cpu-before.cpu).Seconds()*1e6/float64(b.N), "cpu-us/task")
		})
	}
}

func TestTasksAreMeasured(t *testing.T) {
	figures, err := benchTasks(t.Context(), size{budget: time.Millisecond, rounds: 1})
	if err != nil {
		t.Fatal(err)
	}

	for _, f := range figures {
		if f.value <= 0 {
			t.Errorf("%s is %v", f.name, f.value)
		}
		t.Logf("%s %.2f", f.name, f.value)
	}
}
