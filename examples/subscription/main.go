// Command subscription runs the workflow "subscription": every command of Ratchet, with the definition, the
// state machine and the reactions of this directory. Time renews a subscription, tries declined charges
// again, and ends it.
//
//	go run . dev                                 # in one terminal
//	go run . orders create sub-1                 # in another
//	go run . orders apply sub-1 end
//	go run . orders history sub-1
package main

import (
	"context"
	"fmt"
	"os"

	"ratchet/cmd/cli"
)

func main() {
	parts, err := newParts(terminal{})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}

	cli.Main(parts)
}

// terminal prints what a bank and a mailbox would be asked for. Replace it by calls that act once per key.
type terminal struct{}

func (terminal) charge(_ context.Context, key, id string) (bool, error) {
	_, err := fmt.Fprintf(os.Stderr, "%s: %s is charged\n", key, id)
	return true, err
}

func (terminal) remind(_ context.Context, key, id string) error {
	_, err := fmt.Fprintf(os.Stderr, "%s: the trial of %s ends in three days\n", key, id)
	return err
}
