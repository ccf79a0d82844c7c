package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"ratchet/examples/olist"
	"ratchet/server"
	"ratchet/transitions"
	"ratchet/workflow"
)

func replayCommand(s *settings) *cobra.Command {
	c := &cobra.Command{
		Use: "replay", Short: "Feed recorded requests through the transitions and report where each order ended",
		Long: `Feeds recorded histories as transition requests, from many goroutines and with
duplicates, and reports for each order where it ended. Events of one order are
requested in the order of the file; what the definition does not allow is listed with
its verdict, never forced.

--requests takes JSON Lines: {"orderId":"o-1","event":"place"}, {"orderId":"o-1",
"event":"pay","requestId":"r-7"}, {"orderId":"o-1","event":"ship","transitionId":3}.
The event place takes "items" and "total" as well; a line without transitionId and
requestId gets a request id from its order and its position.
--orders takes orders.csv of the Olist data set (examples/olist).

Without --data and --endpoint-url it runs on a temporary embedded engine. Lines that
cannot be used are reported, the rest goes on, and the exit status is 2.`,
		Args: cobra.NoArgs,
	}
	orders := c.Flags().String("orders", "", "orders.csv of the Olist data set")
	requests := c.Flags().String("requests", "", "JSON Lines of requests; - reads standard input")
	parallel := c.Flags().Int("parallel", 64, "goroutines, 1 to 1024")
	duplicates := c.Flags().Int("duplicates", 50, "requests sent more than once, in percent, 0 to 100")
	c.RunE = func(c *cobra.Command, _ []string) error {
		switch {
		case (*orders == "") == (*requests == ""):
			return usageError("replay takes one of --orders and --requests")
		case *parallel < 1 || *parallel > 1024:
			return usageError("parallel %d: 1 to 1024", *parallel)
		case *duplicates < 0 || *duplicates > 100:
			return usageError("duplicates %d: 0 to 100", *duplicates)
		}

		name, read := *orders, readOlist
		if *requests != "" {
			name, read = *requests, readRequests
		}

		input, err := openInput(name)
		if err != nil {
			return &statusError{exitUsage, err}
		}
		defer input.Close()

		b, clean, err := s.openScratch(c.Context())
		if err != nil {
			return err
		}

		f := &feed{orders: b.Orders, parallel: *parallel, duplicates: *duplicates, notes: c.ErrOrStderr()}
		err = runReplay(c.Context(), b, f, func(ctx context.Context) error { return read(ctx, input, f) })
		if err == nil {
			err = f.print(c.OutOrStdout(), s.json)
		}

		return errors.Join(err, clean())
	}

	return c
}

// openScratch is open, on a temporary data directory when the settings name none.
func (s *settings) openScratch(ctx context.Context) (*server.Backend, func() error, error) {
	if s.flags.Changed("data") || s.flags.Changed("endpoint-url") || os.Getenv("RATCHET_DATA") != "" || os.Getenv("RATCHET_ENDPOINT_URL") != "" {
		b, err := s.open(ctx, server.Events{})
		if err != nil {
			return nil, nil, err
		}

		return b, b.Close, nil
	}

	cfg, log, err := s.load()
	if err != nil {
		return nil, nil, err
	}

	if cfg.Data, err = os.MkdirTemp("", "ratchet-*"); err != nil {
		return nil, nil, err
	}

	b, err := server.Embed(cfg, log, server.Events{})
	if err != nil {
		return nil, nil, errors.Join(err, os.RemoveAll(cfg.Data))
	}

	clean := func() error { return errors.Join(b.Close(), os.RemoveAll(cfg.Data)) }
	if err := b.CreateTables(ctx); err != nil {
		return nil, nil, errors.Join(err, clean())
	}

	return b, clean, nil
}

func openInput(name string) (io.ReadCloser, error) {
	if name == "-" {
		return io.NopCloser(os.Stdin), nil
	}
	return os.Open(name)
}

// runReplay runs the engine's own clock, where there is an engine, beside the feed.
func runReplay(ctx context.Context, b *server.Backend, f *feed, read func(context.Context) error) error {
	ctx, stop := context.WithCancel(ctx)
	group, ctx := errgroup.WithContext(ctx)
	if b.Engine != nil {
		group.Go(func() error { return b.Engine.Run(ctx) })
	}
	group.Go(func() error {
		defer stop()
		return f.run(ctx, read)
	})

	return group.Wait()
}

// readOlist feeds the histories of the Olist data set.
func readOlist(ctx context.Context, input io.Reader, f *feed) error {
	return olist.Read(input, func(h olist.History) error {
		if err := f.expect(h.OrderID, h.Ends); err != nil {
			f.bad(0, err)
			return nil
		}

		for _, e := range h.Events {
			l := line{Request: transitions.Request{OrderID: transitions.OrderID(h.OrderID), Event: e.Event}, Total: transitions.Money{Currency: "BRL"}}
			if err := f.add(ctx, l); err != nil {
				return err
			}
		}

		return nil
	}, f.bad)
}

// maxLine bounds a line of JSON, in bytes.
const maxLine = 1 << 20

// readRequests feeds JSON Lines.
func readRequests(ctx context.Context, input io.Reader, f *feed) error {
	lines := bufio.NewReaderSize(input, maxLine)
	for n := 1; ; n++ {
		text, err := lines.ReadSlice('\n')
		if errors.Is(err, bufio.ErrBufferFull) {
			f.bad(n, fmt.Errorf("longer than %d bytes", maxLine))

			for errors.Is(err, bufio.ErrBufferFull) {
				_, err = lines.ReadSlice('\n')
			}
			text = nil
		}

		if len(bytes.TrimSpace(text)) > 0 {
			if l, bad := parseLine(text); bad != nil {
				f.bad(n, bad)
			} else if err := f.add(ctx, l); err != nil {
				return err
			}
		}

		switch {
		case err == io.EOF:
			return nil
		case err != nil:
			return err
		}
	}
}

// line is one request of a JSON Lines file.
type line struct {
	transitions.Request
	Items []transitions.Item `json:"items,omitempty"`
	Total transitions.Money  `json:"total,omitzero"`
	// At is when it happened, as far as the file says; it decides nothing.
	At *time.Time `json:"at,omitempty"`
}

func parseLine(text []byte) (line, error) {
	var l line
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()

	if err := d.Decode(&l); err != nil {
		return l, fmt.Errorf("not a JSON request: %w", err)
	}

	if _, err := d.Token(); err != io.EOF {
		return l, errors.New("more than one JSON value on the line")
	}

	check := l.Request
	if check.RequestID == "" && check.TransitionID == 0 {
		check.RequestID = "-" // it gets one from its position
	}

	if l.Event == workflow.Place {
		if l.Total.Currency == "" {
			l.Total.Currency = "XXX" // ISO 4217: no currency
		}
		return l, transitions.NewOrder{ID: l.OrderID, Items: l.Items, Total: l.Total}.Validate()
	}

	if len(l.Items) > 0 || l.Total != (transitions.Money{}) {
		return l, errors.New("items and total belong to the event place")
	}

	return l, check.Validate()
}
