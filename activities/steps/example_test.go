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

// A state machine of your own may catch the errors that the steps raise. Some errors are worth a
// retry, some are final, and some say that another request has moved the order.
func ExampleErrorNames() {
	name := "Order.PaymentDeclined"

	fmt.Println(slices.Contains(steps.ErrorNames(), name))
	fmt.Println(slices.Contains(steps.RetryableErrors(), name), slices.Contains(steps.TerminalErrors(), name))
	fmt.Println(steps.OvertakenErrors())
	// Output:
	// true
	// false true
	// [Order.Superseded Order.WrongState Order.Conflict]
}
