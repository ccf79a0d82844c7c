// Command subscription runs the workflow "subscription": every command of Ratchet, with the definition, the
// state machine and the reactions of this directory. Time renews a subscription, tries declined charges
// again, and ends it.
//
//	go run . dev                                                                          # in one terminal
//	go run . orders create sub-1 --set card=yes --set trialEndsAt=2026-01-31T12:00:00Z   # in another; the trial is over
//	go run . orders history sub-1                                                        # within 20 seconds: begin
//	go run . orders edit set-own sub-1 --set endsAt=2026-02-28T12:00:00Z                 # the customer cancels
//	go run . orders get sub-1                                                            # within 20 seconds: ENDED
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
