// Command screening is the shop of Ratchet with a step of its own: it looks at each order before the
// money is taken, and cancels suspicious ones. It has every command of ratchet.
//
//	go run ./examples/screening dev                                # in one terminal
//	go run ./examples/screening orders create o-1 --item mug:1:1250 --stock 100
//	go run ./examples/screening orders create o-2 --item mug:60:1250
//	go run ./examples/screening orders history o-2                 # it was canceled
//
// Data of another example stays in .ratchet: remove that directory first, or give every command --data DIR.
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

	cli.Main(parts)
}
