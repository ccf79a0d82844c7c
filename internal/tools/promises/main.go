// Command promises checks that each promise of the documents has a test that fails when the promise is
// broken.
//
//	go run ./internal/tools/promises [-every N] [-from K] [ID ...]
//
// The promises are the table under "Promises" in docs/internals/proofs.md. A row has the promise's id,
// its test, and a break: a change of one line or expression that breaks the promise. The tool plants
// one break at a time, runs the row's tests, and expects them to fail. The break is in an overlay
// (`go test -overlay`), so the tree is not touched. A break that does not compile, or whose text is not
// in its file exactly once, is an error.
//
// With IDs, only these promises are tried. With -every N, one of N rows is tried, beginning with row K.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"time"
)

const table = "docs/internals/proofs.md"

func main() {
	every := flag.Int("every", 1, "try one of `N` promises")
	from := flag.Int("from", 0, "begin with the row `K`, counted from 0")
	flag.Parse()

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Stdout, *every, *from, flag.Args())
	stop()

	if err != nil {
		fmt.Fprintln(os.Stderr, "promises:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, out io.Writer, every, from int, ids []string) error {
	text, err := os.ReadFile(table)
	if err != nil {
		return fmt.Errorf("%w (run this in the root of the module)", err)
	}

	all, err := parse(string(text))
	if err != nil {
		return err
	}

	for _, id := range ids {
		if !slices.ContainsFunc(all, func(p promise) bool { return p.id == id }) {
			return fmt.Errorf("%s has no promise %s", table, id)
		}
	}

	tried, kept := 0, 0
	for i, p := range all {
		// The sample is every Nth row, so that another start tries other rows.
		if len(ids) > 0 && !slices.Contains(ids, p.id) || every > 1 && i%every != from%every {
			continue
		}

		began := time.Now()

		held, err := p.try(ctx, ".")
		if err != nil {
			return fmt.Errorf("promise %s: %w", p.id, err)
		}
		tried++

		answer := "its test fails, as it should"
		if held {
			kept++
			answer = "BROKEN, AND NO TEST FAILS: " + p.broken.String()
		}
		fmt.Fprintf(out, "%-6s %5.1fs  %s\n", p.id, time.Since(began).Seconds(), answer)
	}

	fmt.Fprintf(out, "%d of %d promises tried\n", tried, len(all))

	if kept > 0 {
		return fmt.Errorf("%d promises can be broken without a test that fails", kept)
	}

	return nil
}
