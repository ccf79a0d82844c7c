package deploy

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"ratchet/api"
)

// notRequested are operations of the OpenAPI document that testdata/api.txt has no request for, with the
// reason. Their calls are missing in what is recorded for the part "api".
var notRequested = map[string]string{}

// notDocumented are requests of testdata/api.txt that are no operation of the OpenAPI document, with the
// reason.
var notDocumented = map[string]string{}

// TestEveryOperationOfTheAPIIsRequested compares testdata/api.txt, which TestPermissionsAreWhatIsCalled
// sends, with the OpenAPI document: an operation without a request could need a permission that no
// policy gives.
func TestEveryOperationOfTheAPIIsRequested(t *testing.T) {
	operations := operationsOfTheAPI(t)
	requested, unknown := map[string]bool{}, map[string]bool{}

	for _, line := range script(t, "api.txt") {
		method, path := requestOf(line)

		operation := operationOf(operations, method, path)
		if operation != "" {
			requested[operation] = true
			continue
		}

		unknown[method+" "+path] = true
		if notDocumented[method+" "+path] == "" {
			t.Errorf("%s %s is no operation of the OpenAPI document", method, path)
		}
	}

	for _, operation := range operations {
		if reason := notRequested[operation]; requested[operation] == (reason != "") {
			t.Errorf("%s: is requested: %t, reason why not: %q; testdata/api.txt or notRequested must have it, and not both", operation, requested[operation], reason)
		}
	}

	for _, operation := range slices.Sorted(maps.Keys(notRequested)) {
		if !slices.Contains(operations, operation) {
			t.Errorf("notRequested has %s, which is no operation", operation)
		}
	}

	for _, request := range slices.Sorted(maps.Keys(notDocumented)) {
		if !unknown[request] {
			t.Errorf("notDocumented has %s, which is not requested, or is documented", request)
		}
	}
}

// operationsOfTheAPI returns the operations of the document, as "GET /v1/orders/{id}".
func operationsOfTheAPI(t *testing.T) (operations []string) {
	t.Helper()

	text, err := api.OpenAPI()
	if err != nil {
		t.Fatal(err)
	}

	var document struct {
		Paths map[string]map[string]any `json:"paths"`
	}
	if err := json.Unmarshal(text, &document); err != nil {
		t.Fatal(err)
	}

	for path, item := range document.Paths {
		for method := range item {
			if method = strings.ToUpper(method); slices.Contains([]string{"GET", "PUT", "POST", "PATCH", "DELETE", "HEAD"}, method) {
				operations = append(operations, method+" "+path)
			}
		}
	}

	if len(operations) < 50 {
		t.Fatalf("only %d operations", len(operations))
	}
	slices.Sort(operations)

	return operations
}

// requestOf returns the method and the path of a line of testdata/api.txt.
func requestOf(line string) (method, path string) {
	words := strings.Fields(line)

	switch {
	case words[0] == "until":
		words = words[2:]
	case strings.Contains(words[0], "="):
		words = words[1:]
	}
	path, _, _ = strings.Cut(words[1], "?")

	return words[0], path
}

// operationOf returns the operation that answers the request, "" if there is none. Of several, the one
// with a name where the others have a parameter answers.
func operationOf(operations []string, method, path string) (found string) {
	fewest := 1 << 10
	segments := strings.Split(path, "/")

	for _, operation := range operations {
		of, template, _ := strings.Cut(operation, " ")
		names := strings.Split(template, "/")

		if of != method || len(names) != len(segments) {
			continue
		}

		parameters, matches := 0, true
		for i, name := range names {
			if strings.HasPrefix(name, "{") {
				parameters++
			} else if name != segments[i] {
				matches = false
			}
		}

		if matches && parameters < fewest {
			found, fewest = operation, parameters
		}
	}

	return found
}
