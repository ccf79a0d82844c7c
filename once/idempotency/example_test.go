package idempotency_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ratchet/embedded/embeddedtest"
	"ratchet/once"
	"ratchet/once/idempotency"
)

// A handler under the middleware runs once per Idempotency-Key and caller.
func Example() {
	cfg, closeAll := embeddedtest.OpenExample(once.TableInput("once"))
	defer closeAll()

	claims, err := once.New(once.Config{DynamoDB: dynamodb.NewFromConfig(cfg), Table: "once", Operation: "orders/v1"})
	if err != nil {
		panic(err)
	}

	middleware, err := idempotency.New(idempotency.Config{
		Claims: claims,
		Caller: func(*http.Request) (string, error) { return "acme", nil }, // from the credential
	})
	if err != nil {
		panic(err)
	}

	orders := 0
	handler := middleware(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if idempotency.ClaimFrom(r.Context()).Outcome == once.TakenOver {
			fmt.Println("an earlier run may have placed the order: look for it first")
		}
		orders++

		w.WriteHeader(http.StatusCreated)
		fmt.Fprintf(w, "order %d", orders)
	}))

	for _, body := range []string{"a mug", "a mug", "a cup"} {
		r := httptest.NewRequest(http.MethodPost, "/orders", strings.NewReader(body))
		r.Header.Set(idempotency.Header, `"key-1"`)

		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)

		if w.Code == http.StatusCreated {
			fmt.Println(w.Code, w.Body, "replayed:", w.Header().Get(idempotency.Replayed) == "true")
		} else {
			fmt.Println(w.Code)
		}
	}
	// Output:
	// 201 order 1 replayed: false
	// 201 order 1 replayed: true
	// 409
}
