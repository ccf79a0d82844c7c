package orders

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"ratchet/transitions"
)

// refusedRequest is a line of a log about a request that was decided and not applied.
type refusedRequest struct {
	At      time.Time           `json:"at"`
	Event   string              `json:"event"`
	ID      int64               `json:"transitionId,omitempty"`
	Request string              `json:"requestId,omitempty"`
	Verdict transitions.Verdict `json:"verdict"`
}

// maxRefusals is how many refusals of an order are kept. Older ones are dropped.
const maxRefusals = 1000

// refusals returns the refused requests of an order in the log of a worker or server
// (log/slog, text or JSON, level debug). It ignores other lines.
func refusals(log io.Reader, order transitions.OrderID) ([]refusedRequest, error) {
	var found []refusedRequest
	lines := bufio.NewScanner(log)
	// A line of slog can be longer than bufio's 64 KB.
	lines.Buffer(nil, 1<<20)

	for lines.Scan() {
		line := lines.Text()
		// This cheap check comes before the line is parsed: most lines of a log are about other
		// orders.
		if !strings.Contains(line, string(order)) {
			continue
		}

		fields := logFields(line)
		if fields["order"] != string(order) || fields["msg"] != "transition" {
			continue
		}

		r := refusedRequest{Event: fields["event"], Request: fields["request"]}
		// Applied and replayed requests are in the journal.
		if r.Verdict.UnmarshalText([]byte(fields["verdict"])) != nil || r.Verdict.Done() {
			continue
		}

		r.At, _ = time.Parse(time.RFC3339Nano, fields["time"]) // slog can be configured to omit the time
		r.ID, _ = strconv.ParseInt(fields["transition"], 10, 64)
		// The newest ones are kept.
		if found = append(found, r); len(found) > maxRefusals {
			found = found[1:]
		}
	}

	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("read the log: %w", err)
	}

	return found, nil
}

// logFields parses one line of slog: a JSON object, or key=value pairs with quotes where needed. It
// returns the fields before the first field that it cannot parse.
func logFields(line string) map[string]string {
	fields := map[string]string{}
	if strings.HasPrefix(line, "{") {
		var object map[string]any
		d := json.NewDecoder(strings.NewReader(line))
		// A transitionId is a whole number and must not become 1e+06.
		d.UseNumber()

		if d.Decode(&object) != nil {
			return nil
		}

		for name, v := range object {
			fields[name] = fmt.Sprint(v)
		}

		return fields
	}

	for line = strings.TrimLeft(line, " "); line != ""; line = strings.TrimLeft(line, " ") {
		name, rest, found := strings.Cut(line, "=")
		if !found {
			break
		}

		value, after, _ := strings.Cut(rest, " ")
		// A quoted value may contain spaces and escaped quotes.
		if strings.HasPrefix(rest, `"`) {
			quoted, err := strconv.QuotedPrefix(rest)
			if err != nil {
				break
			}
			value, _ = strconv.Unquote(quoted) // QuotedPrefix returns only what Unquote accepts
			after = rest[len(quoted):]
		}
		fields[name], line = value, after
	}

	return fields
}
