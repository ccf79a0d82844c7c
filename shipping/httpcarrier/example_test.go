package httpcarrier_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ratchet/embedded/embeddedtest"
	"ratchet/shipping/httpcarrier"
	"ratchet/shipping/sandbox"
)

// A carrier behind a URL, here the sandbox's.
func Example() {
	ctx := context.Background()

	cfg, closeAll := embeddedtest.OpenExample(sandbox.Table("shipments"))
	defer closeAll()

	far, err := sandbox.New(sandbox.Config{DynamoDB: dynamodb.NewFromConfig(cfg), Table: "shipments"})
	if err != nil {
		panic(err)
	}

	server := httptest.NewServer(far.Handler("token"))
	defer server.Close()

	carrier, err := httpcarrier.New(httpcarrier.Config{URL: server.URL, Token: "token", Transport: server.Client().Transport})
	if err != nil {
		panic(err)
	}

	tracking, err := carrier.Book(ctx, "o-1/2/shipping", "o-1")
	if err != nil {
		panic(err)
	}

	shipment, err := carrier.Get(ctx, "o-1/2/shipping")
	fmt.Println(shipment.Status, shipment.Tracking == tracking, err)
	// Output: booked true <nil>
}

// What a carrier has to serve is an OpenAPI document, from which a server or a stub can be generated.
func ExampleOpenAPI() {
	document := string(httpcarrier.OpenAPI())

	fmt.Println(strings.Contains(document, "openapi: 3.1"), strings.Contains(document, "Idempotency-Key"))
	// Output: true true
}

// An answer that the carrier gave is an Error with its status and code.
func ExampleError() {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "busy", http.StatusServiceUnavailable)
	}))
	defer server.Close()

	carrier, err := httpcarrier.New(httpcarrier.Config{URL: server.URL, Transport: server.Client().Transport})
	if err != nil {
		panic(err)
	}

	_, err = carrier.Book(context.Background(), "o-1/2/shipping", "o-1")

	var answer *httpcarrier.Error
	fmt.Println(errors.As(err, &answer), answer.Status)
	// Output: true 503
}
