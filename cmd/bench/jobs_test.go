package main

import (
	"testing"
	"time"
)

// TestAJobBesideOtherWorkIsMeasured: with few orders. All are migrated, while others are moved by requests.
func TestAJobBesideOtherWorkIsMeasured(t *testing.T) {
	m, err := openJobs(t.Context(), 200)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := m.stop(); err != nil {
			t.Error(err)
		}
	}()

	figures, err := m.measureJob(t.Context(), 100*time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}

	for _, f := range figures {
		if f.value <= 0 {
			t.Errorf("%s is %g", f.name, f.value)
		}
	}
}
