package docs_test

import (
	"fmt"

	"ratchet/docs"
)

func ExampleAnchors() {
	names := docs.Anchors{}
	fmt.Println(names.Next("A title: `x` & [more](page.md)"))
	fmt.Println(names.Next("Again"))
	fmt.Println(names.Next("Again"))
	// Output:
	// a-title-x--more
	// again
	// again-1
}
