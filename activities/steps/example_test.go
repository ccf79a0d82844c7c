package steps_test

import (
	"fmt"
	"slices"

	"ratchet/activities/steps"
)

// What becomes of an order whose payment is declined?
func ExampleErrorClasses() {
	for _, class := range steps.ErrorClasses() {
		if slices.Contains(class.Errors, "Order.PaymentDeclined") {
			fmt.Println("retried:", class.Retry != nil, "then:", class.Then)
		}
	}
	// Output: retried: false then: caught
}
