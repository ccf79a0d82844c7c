package check_test

import (
	"fmt"
	"slices"

	"ratchet/workflow/check"
)

// The names that Step Functions itself raises may stand in a Retry or Catch without any task
// that raises them.
func ExampleServiceErrors() {
	for _, name := range []string{"States.Timeout", "States.ALL", "Order.OutOfStock"} {
		fmt.Println(name, slices.Contains(check.ServiceErrors(), name))
	}
	// Output:
	// States.Timeout true
	// States.ALL true
	// Order.OutOfStock false
}
