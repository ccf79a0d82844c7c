package main

import (
	"testing"
)

func TestDeliveriesAreMeasured(t *testing.T) {
	for _, hang := range []bool{false, true} {
		if rate, err := deliverTo(t.Context(), 3, 20, hang); err != nil || rate <= 0 {
			t.Errorf("hang %t: %g, %v", hang, rate, err)
		}
	}
}
