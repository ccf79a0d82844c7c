// Command ticket runs the workflow "ticket": every command of Ratchet, with the definition, the
// state machine, the steps and the reactions of this directory.
//
//	go run . dev                                          # in one terminal
//	go run . orders create ticket-1 --metadata topic=invoice   # in another
//	go run . orders apply ticket-1 resolve
//	go run . orders history ticket-1
package main

import (
	"context"
	"fmt"
	"os"

	"ratchet/cmd/cli"
)

func main() {
	parts, err := newParts(tell)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}

	cli.Main(parts)
}

// tell prints that the customer has an answer. Printing does not honor the key: replace it by a call
// to a service that acts once per key.
func tell(_ context.Context, key, id string) error {
	_, err := fmt.Fprintf(os.Stderr, "%s: %s is closed, the customer is told\n", key, id)
	return err
}
