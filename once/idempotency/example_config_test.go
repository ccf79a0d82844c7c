package idempotency_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ratchet/embedded/embeddedtest"
	"ratchet/once"
	"ratchet/once/idempotency"
)

// wrap puts the handler under the middleware with cfg.
func wrap(aws aws.Config, cfg idempotency.Config, handler http.HandlerFunc) http.Handler {
	claims, err := once.New(once.Config{DynamoDB: dynamodb.NewFromConfig(aws), Table: "once", Operation: "orders/v1"})
	if err != nil {
		panic(err)
	}

	cfg.Claims, cfg.Caller = claims, func(*http.Request) (string, error) { return "acme", nil }

	middleware, err := idempotency.New(cfg)
	if err != nil {
		panic(err)
	}

	return middleware(handler)
}

func send(h http.Handler, method, key, body string) *httptest.ResponseRecorder {
	r, w := httptest.NewRequest(method, "/orders", strings.NewReader(body)), httptest.NewRecorder()
	if key != "" {
		r.Header.Set(idempotency.Header, key)
	}

	h.ServeHTTP(w, r)

	return w
}

// The header X-Order is stored and replayed, X-Trace is not. A response with 404 is not
// stored: a retry runs the handler again.
func ExampleConfig_headers() {
	cfg, closeAll := embeddedtest.OpenExample(once.TableInput("once"))
	defer closeAll()

	runs := 0
	handler := wrap(cfg, idempotency.Config{
		Headers: []string{"Content-Type", "X-Order"},
		Decide: func(status int) idempotency.Decision {
			if status == http.StatusNotFound {
				return idempotency.Release
			}

			return idempotency.Keep
		},
	}, func(w http.ResponseWriter, _ *http.Request) {
		runs++
		w.Header().Set("X-Order", "o-1")
		w.Header().Set("X-Trace", fmt.Sprint("run ", runs))

		if runs == 1 {
			w.WriteHeader(http.StatusNotFound)
		}
	})

	for range 3 {
		w := send(handler, http.MethodPost, "key-1", "a mug")
		fmt.Printf("%d order %q trace %q\n", w.Code, w.Header().Get("X-Order"), w.Header().Get("X-Trace"))
	}
	// Output:
	// 404 order "o-1" trace "run 1"
	// 200 order "o-1" trace "run 2"
	// 200 order "o-1" trace ""
}

// Only PUT is under the middleware here, and a PUT without a key runs each time. Bodies have
// at most 10 bytes. A problem names a page that explains it.
func ExampleConfig_optional() {
	cfg, closeAll := embeddedtest.OpenExample(once.TableInput("once"))
	defer closeAll()

	runs := 0
	handler := wrap(cfg, idempotency.Config{
		Methods:     []string{http.MethodPut},
		Optional:    true,
		MaxRequest:  10,
		MaxResponse: 10,
		Docs:        "https://example.com/keys",
	}, func(w http.ResponseWriter, r *http.Request) {
		runs++
		fmt.Fprint(w, "run ", runs)

		if r.Method == http.MethodPut && runs == 5 {
			fmt.Fprint(w, ", too long")
		}
	})

	for _, request := range []struct{ method, key, body string }{
		{http.MethodPut, "", "a mug"},
		{http.MethodPut, "", "a mug"},
		{http.MethodPut, "key-1", "a mug"},
		{http.MethodPut, "key-1", "a mug"},
		{http.MethodPost, "key-1", "a mug"}, // not under the middleware
		{http.MethodPut, "key-2", "a very large mug"},
		{http.MethodPut, "key-3", "a mug"},
	} {
		w := send(handler, request.method, request.key, request.body)

		var problem struct{ Type string }
		if json.Unmarshal(w.Body.Bytes(), &problem) == nil {
			fmt.Println(w.Code, problem.Type)
		} else {
			fmt.Println(w.Code, w.Body)
		}
	}
	// Output:
	// 200 run 1
	// 200 run 2
	// 200 run 3
	// 200 run 3
	// 200 run 4
	// 413 https://example.com/keys#body_too_large
	// 500 https://example.com/keys#response_too_large
}

// A repeat that comes while the first request is served waits for its response.
func ExampleConfig_wait() {
	cfg, closeAll := embeddedtest.OpenExample(once.TableInput("once"))
	defer closeAll()

	begun, end := make(chan struct{}), make(chan struct{})
	handler := wrap(cfg, idempotency.Config{Wait: 10 * time.Second}, func(w http.ResponseWriter, _ *http.Request) {
		close(begun)
		<-end
		fmt.Fprint(w, "charged")
	})

	answers := make(chan string)
	ask := func() {
		w := send(handler, http.MethodPost, "key-1", "a mug")
		answers <- fmt.Sprint(w.Code, " ", w.Body)
	}

	go ask()
	<-begun

	go ask()
	close(end)

	fmt.Println(<-answers)
	fmt.Println(<-answers)
	// Output:
	// 200 charged
	// 200 charged
}
