// Command bank is Ratchet with a bank of its own, reached over HTTP. It has every command
// of ratchet; client.go has the bank.
//
//	go run ./examples/bank dev                       # in one terminal; serves a small bank, too
//	go run ./examples/bank orders create o-1 --item mug:2:1250 --stock 10
//	go run ./examples/bank orders watch o-1
//	curl -H 'Authorization: Bearer example' 127.0.0.1:8720/operations
//
// BANK_URL and BANK_TOKEN name another bank that serves the same operations; BANK_LISTEN names
// another address for the small bank.
//
// Data of another example stays in .ratchet: remove that directory first, or give every command --data DIR.
package main

import (
	"cmp"
	"context"
	"fmt"
	"os"

	"ratchet/cmd/cli"
	"ratchet/server"
)

// exampleBank is where `dev` serves the small bank if BANK_URL and BANK_LISTEN are empty.
const exampleBank = "127.0.0.1:8720"

func main() {
	parts, err := newParts(context.Background(), os.Getenv("BANK_URL"), cmp.Or(os.Getenv("BANK_TOKEN"), "example"), os.Args[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}

	cli.Main(parts)
}

// newParts returns the bank at the URL. Without a URL it is the small bank, which `dev` serves.
func newParts(ctx context.Context, url, token string, args []string) (server.Parts, error) {
	if url == "" {
		address := cmp.Or(os.Getenv("BANK_LISTEN"), exampleBank)

		url = "http://" + address
		// Only `dev` serves the small bank; every other command calls the bank that runs there.
		if len(args) > 0 && args[0] == "dev" {
			if err := serveBank(ctx, address, ".bank", token); err != nil {
				return server.Parts{}, err
			}
		}
	}

	b, err := newBank(url, token)

	return server.Parts{Bank: b}, err
}
