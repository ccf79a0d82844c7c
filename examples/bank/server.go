package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/embedded"
	"ratchet/payments"
	"ratchet/payments/sandbox"
)

// handler serves a bank that moves no money: behind it is the sandbox bank, which keeps its
// operations in a table.
func handler(b *sandbox.Bank, token string) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /operations", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/x-ndjson")
		lines := json.NewEncoder(w)

		if err := b.Report(r.Context(), func(key, kind string, amount int64, currency string) error {
			return lines.Encode(made{key, kind, amount, currency})
		}); err != nil {
			panic(http.ErrAbortHandler) // the client sees a list that is cut off, and not a short one
		}
	})
	mux.HandleFunc("PUT /operations/{key}", func(w http.ResponseWriter, r *http.Request) {
		var o operation
		// The body comes from outside, so its size is bounded.
		if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxAnswer)).Decode(&o); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}

		verbs := map[string]func(context.Context, payments.Request) (string, error){
			authorize: b.Authorize, sale: b.Sale, capture: b.Capture, refund: b.Refund,
		}

		verb, known := verbs[o.Kind]
		if !known {
			http.Error(w, "kind: authorize, sale, capture or refund", http.StatusBadRequest)
			return
		}

		reference, err := verb(r.Context(), payments.Request{
			Key:           r.PathValue("key"),
			Authorization: o.Authorization,
			OrderID:       o.OrderID,
			Amount:        o.Amount,
			Currency:      o.Currency,
		})
		reply(w, operation{Status: payments.OperationSucceeded, Reference: reference}, err)
	})
	mux.HandleFunc("DELETE /operations/{key}", func(w http.ResponseWriter, r *http.Request) {
		reply(w, operation{Status: payments.OperationVoided}, b.Void(r.Context(), r.PathValue("key")))
	})
	mux.HandleFunc("GET /operations/{key}", func(w http.ResponseWriter, r *http.Request) {
		o, err := b.Lookup(r.Context(), r.PathValue("key"))
		// The processor answers an unknown key with the zero operation; over HTTP it is a 404.
		if err == nil && o.Status == "" {
			err = errUnknown
		}
		reply(w, operation{Status: o.Status, Amount: o.Amount, Currency: o.Currency, Reference: o.Reference}, err)
	})

	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer "+token {
			http.Error(w, "wrong token", http.StatusUnauthorized)
			return
		}
		mux.ServeHTTP(w, r)
	})
}

// made is a line of the list of the operations that moved money.
type made struct {
	Key      string `json:"key"`
	Kind     string `json:"kind"`
	Amount   int64  `json:"amount"`
	Currency string `json:"currency"`
}

// reply writes the operation, or the status of the error.
func reply(w http.ResponseWriter, o operation, err error) {
	// The client reads the same map the other way round.
	for status, answer := range answers {
		if errors.Is(err, answer) {
			http.Error(w, answer.Error(), status)
			return
		}
	}

	// No decision was made, so the answer must not be one of the map's statuses.
	if err != nil {
		http.Error(w, "try again", http.StatusServiceUnavailable)
		return
	}

	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(o) // a client that has gone repeats its call
}

// serveBank serves a bank with its data in dir, until the process ends.
func serveBank(ctx context.Context, address, dir, token string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}

	engine, err := embedded.Open(embedded.Config{Dir: dir})
	if err != nil {
		return err
	}

	const table = "operations"
	db := dynamodb.NewFromConfig(engine.AWSConfig())

	_, err = db.CreateTable(ctx, sandbox.Table(table))
	// A later start finds the table of the first one.
	if _, exists := errors.AsType[*types.ResourceInUseException](err); err != nil && !exists {
		return err
	}

	b, err := sandbox.New(sandbox.Config{DynamoDB: db, Table: table})
	if err != nil {
		return err
	}

	// Listening here, not in the goroutine: `dev` may call the bank as soon as this returns.
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if err != nil {
		return err
	}

	server := &http.Server{Handler: handler(b, token), ReadHeaderTimeout: 10 * time.Second}
	go func() { fmt.Fprintln(os.Stderr, "bank:", server.Serve(listener)) }()

	return nil
}
