package scaffold_test

import (
	"fmt"
	"maps"
	"slices"

	"ratchet/workflow/scaffold"
)

func ExampleOptions_Render() {
	files, err := scaffold.Options{Name: "ticket", Machine: machine}.Render("ratchet")
	if err != nil {
		panic(err)
	}

	fmt.Println(slices.Sorted(maps.Keys(files)))
	// Output: [main.go parts.go parts_test.go statemachine.asl.json workflow.schema.json workflow.yaml]
}
