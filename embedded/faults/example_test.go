package faults_test

import (
	"context"
	"fmt"

	"ratchet/embedded/faults"
)

// The second write loses its answer. An engine and a client's transport ask their Set in this way.
func Example() {
	var set faults.Set

	lost := set.Inject(faults.LoseAnswer("PutItem").EveryNth(2))

	for range 2 {
		call := faults.NewCall("dynamodb", "PutItem", nil)
		set.Number(call)

		afterCommit, err := set.Before(context.Background(), call)
		fmt.Println("carried out:", err == nil || afterCommit, "answered:", err == nil)
	}

	fmt.Println(lost.Strikes(), "answer lost")
	// Output:
	// carried out: true answered: true
	// carried out: true answered: false
	// 1 answer lost
}
