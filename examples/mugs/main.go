// Command mugs runs the workflow "mugs": every command of Ratchet, with the definition, the
// state machine, the steps and the reactions of this directory.
//
//	go run . dev                                              # in one terminal
//	go run . orders create mugs-1 --item mug:2:1250 --stock 10   # in another
//	go run . orders watch mugs-1
//	go run . orders history mugs-1
package main

import (
	"fmt"
	"os"

	"ratchet/cmd/cli"
)

func main() {
	parts, err := newParts()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}

	// A bank and a carrier of your own go into parts.Bank and parts.Carrier. Without them the sandboxes run,
	// which move neither money nor parcels.
	cli.Main(parts)
}
