package orderfile_test

import (
	"fmt"
	"strings"

	"ratchet/cmd/cli/orderfile"
	"ratchet/workflow"
)

// A shop exports its orders with names and words of its own.
func Example() {
	file := "number;status\n0017;sent\n0018\n"

	format := orderfile.Format{
		CSV: true, Separator: ';',
		Columns: map[string]string{"orderId": "number", "state": "status"},
		States:  map[string]workflow.State{"sent": workflow.Shipped},
	}

	err := orderfile.Read(strings.NewReader(file), format, func(l orderfile.Line) error {
		fmt.Println(l.Number, l.Order.ID, l.Order.State, l.Err)
		return nil
	})
	fmt.Println(err)
	// Output:
	// 2 0017 SHIPPED <nil>
	// 3   1 column, and the header has 2
	// <nil>
}
