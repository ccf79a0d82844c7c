package api_test

import (
	"encoding/json"
	"fmt"

	"ratchet/api"
)

// The API describes itself: generate a client from this document.
func ExampleOpenAPI() {
	text, err := api.OpenAPI()
	if err != nil {
		panic(err)
	}

	var document struct {
		OpenAPI string
		Paths   map[string]any
	}
	if err := json.Unmarshal(text, &document); err != nil {
		panic(err)
	}

	_, found := document.Paths["/v1/orders/{orderId}"]
	fmt.Println(document.OpenAPI, found)
	// Output: 3.1.0 true
}

// The server explains each error code; a problem links there.
func ExampleErrorCodes() {
	for _, c := range api.ErrorCodes() {
		if c.Code == "order_not_found" {
			fmt.Println(c.Status, api.ErrorsPath+"#"+c.Code)
		}
	}
	// Output: 404 /errors#order_not_found
}
