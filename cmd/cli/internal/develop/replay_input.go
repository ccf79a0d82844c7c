package develop

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"ratchet/cmd/cli/olist"
	"ratchet/transitions"
	"ratchet/workflow"
)

// readOlist adds the histories of the Olist data set to the feed.
func readOlist(ctx context.Context, input io.Reader, f *replayFeed) error {
	return olist.Read(input, func(h olist.History) error {
		// The order's first history counts.
		if err := f.expect(h.OrderID, h.Ends); err != nil {
			f.bad(0, err)
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

// maxLine is the maximum length of a line of JSON, in bytes.
const maxLine = 1 << 20

// readRequests adds requests in JSON Lines to the feed.
func readRequests(ctx context.Context, input io.Reader, f *replayFeed) error {
	lines := bufio.NewReaderSize(input, maxLine)
	for n := 1; ; n++ {
		text, err := lines.ReadSlice('\n')
		// The rest of the line is skipped, so that the next line is read from its beginning.
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
		// io.EOF comes together with a last line that has no line feed.
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
	// At is the time of the event. It is accepted and not used.
	At *time.Time `json:"at,omitempty"`
}

// parseLine parses one line of JSON and checks it as far as that is possible without the
// order.
func parseLine(text []byte) (line, error) {
	var l line
	d := json.NewDecoder(bytes.NewReader(text))
	// A typo in a name would otherwise be ignored, and the request sent without the value.
	d.DisallowUnknownFields()

	if err := d.Decode(&l); err != nil {
		return l, fmt.Errorf("not a JSON request: %w", err)
	}

	if _, err := d.Token(); err != io.EOF {
		return l, errors.New("more than one JSON value on the line")
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
