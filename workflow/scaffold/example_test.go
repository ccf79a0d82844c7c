package scaffold_test

import (
	"fmt"
	"maps"
	"slices"

	"ratchet/workflow/scaffold"
)

func ExampleRender() {
	files, err := scaffold.Render("ticket", "ratchet")
	if err != nil {
		panic(err)
	}

	fmt.Println(slices.Sorted(maps.Keys(files)))
	// Output: [main.go parts.go parts_test.go statemachine.asl.json workflow.yaml]
}
