package main

import (
	"testing"
	"time"
)

// TestARushOfDueOrdersIsMeasured: with few orders. All are moved, once each, while others are moved by requests.
func TestARushOfDueOrdersIsMeasured(t *testing.T) {
	rush, err := openRush(t.Context(), 300)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := rush.stop(); err != nil {
			t.Error(err)
		}
	}()

	figures, err := rush.measure(t.Context(), 100*time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}

	for _, f := range figures {
		if f.value <= 0 {
			t.Errorf("%s is %g", f.name, f.value)
		}
	}

	if figures[0].value != 300 {
		t.Errorf("%+v", figures)
	}
}
