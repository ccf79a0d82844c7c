// Command adopt is a shop that has orders already: in a table with pk and sk, with a text in status, which it writes
// as it likes. docs/guides/adopt.md leads it to transitions without a stop:
//
//	go run ./examples/adopt table             # the shop's table, with four orders
//	go run ./examples/adopt old o-1 sent      # as it always was: a status is written
//	go run ./examples/adopt shadow o-2 sent   # the same, and Ratchet judges beside it
//	go run ./examples/adopt guarded o-3 send r-1  # Ratchet decides, and writes the status
//
// AWS_ENDPOINT_URL says where the table is; http://127.0.0.1:8700, where `ratchet dev` listens, if it is not set.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"

	"ratchet/transitions"
	"ratchet/workflow"
)

var errUsage = errors.New("usage: adopt table | old ORDER STATUS | shadow ORDER STATUS | guarded ORDER EVENT REQUEST")

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()

	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	s, err := openShop(os.Getenv("AWS_ENDPOINT_URL"))
	if err != nil {
		return err
	}

	act := ""
	if len(args) > 0 {
		act = args[0]
	}

	switch {
	case act == "table" && len(args) == 1:
		return s.fill(ctx)
	case act == "old" && len(args) == 3:
		return s.set(ctx, args[1], args[2])
	case act == "shadow" && len(args) == 3:
		return s.shadow(ctx, args[1], args[2])
	case act == "guarded" && len(args) == 4:
		return s.guarded(ctx, args[1], workflow.Event(args[2]), transitions.RequestID(args[3]))
	}

	return errUsage
}
