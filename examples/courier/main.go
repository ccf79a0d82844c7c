// Command courier is Ratchet with a carrier that the shop itself runs, which writes labels into a
// directory. It has every command of ratchet, and one more: pick-up.
//
//	go run ./examples/courier dev                                # in one terminal
//	go run ./examples/courier orders create o-1 --item mug:2:1250 --stock 10
//	ls .labels
//	go run ./examples/courier pick-up o-1                        # the parcel leaves
//	go run ./examples/courier orders apply o-1 ship
//
// Data of another example stays in .ratchet: remove that directory first, or give every command --data DIR.
package main

import (
	"fmt"
	"os"

	"ratchet/cmd/cli"
	"ratchet/server"
)

func main() {
	c, err := newCourier(".labels")
	if err == nil && len(os.Args) == 3 && os.Args[1] == "pick-up" {
		if err = c.PickUpAll(os.Args[2]); err == nil {
			return
		}
	}

	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}

	cli.Main(server.Parts{Carrier: c})
}
