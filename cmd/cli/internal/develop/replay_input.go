package develop

import (
	"context"
	"errors"
	"io"
	"time"

	"ratchet/cmd/cli/internal/textfile"
	"ratchet/cmd/cli/olist"
	"ratchet/transitions"
	"ratchet/workflow"
)

// readOlist adds the histories of the Olist data set to the feed.
func readOlist(ctx context.Context, input io.Reader, f *replayFeed) error {
	return olist.Read(input, func(n int, h olist.History) error {
		// The order's first history counts.
		if err := f.expect(h.OrderID, n, h.Ends); err != nil {
			f.bad(n, err)
			return nil
		}

		for _, e := range h.Events {
			l := line{
				Request: transitions.Request{OrderID: transitions.OrderID(h.OrderID), Event: e.Event},
				// Olist's data set has prices in reais, and no order needs them here.
				Total: transitions.Money{Currency: "BRL"},
			}
			if err := f.add(ctx, l); err != nil {
				return err
			}
		}

		return nil
	}, f.bad)
}

// readRequests adds requests in JSON Lines to the feed.
func readRequests(ctx context.Context, input io.Reader, f *replayFeed) error {
	lines, err := textfile.Open(input)
	if err != nil {
		return err
	}

	return textfile.Lines(lines, func(n int, text []byte, reason error) error {
		var l line
		if reason == nil {
			l, reason = parseLine(text)
		}

		if reason != nil {
			f.bad(n, reason)
			return nil
		}

		return f.add(ctx, l)
	})
}

// line is one request of a JSON Lines file.
type line struct {
	transitions.Request
	Items []transitions.Item `json:"items,omitempty"`
	Total transitions.Money  `json:"total,omitzero"`
	// At is the time of the event. It is accepted and not used.
	At *time.Time `json:"at,omitempty"`
}

// parseLine parses one line of JSON and checks it as far as that is possible without the
// order.
func parseLine(text []byte) (line, error) {
	var l line
	if err := textfile.JSON(text, "a request", &l); err != nil {
		return l, err
	}

	check := l.Request
	if check.RequestID == "" && check.TransitionID == 0 {
		check.RequestID = "-" // a placeholder: add assigns an id from the position
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
