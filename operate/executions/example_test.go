package executions_test

import (
	"fmt"

	"ratchet/operate/executions"
)

// An execution is named after its order. The colon of a tenant's order may not be in a name.
func ExampleName() {
	fmt.Println(executions.Name("o-1"))
	fmt.Println(executions.Name("acme:o-1") == executions.Name("acme-o-1"))
	// Output:
	// o-1
	// false
}
