package costs

import "testing"

// TestAPaymentKeepsItsBudget measures a payment that is charged at once, and another one that is
// authorized and captured.
func TestAPaymentKeepsItsBudget(t *testing.T) {
	atOnce, captured, err := PerPayment(t.Context())
	if err != nil || atOnce.Write > 18 || atOnce.Calls > 2 || captured.Write > 32 {
		t.Errorf("charged at once %+v, authorized and captured %+v, %v", atOnce, captured, err)
	}
}
