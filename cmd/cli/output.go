package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"time"
)

// printJSON prints the value as one line of JSON.
func printJSON(w io.Writer, v any) error {
	line, err := json.Marshal(v)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(w, string(line))

	return err
}

// printLines prints each value as one line of JSON.
func printLines[T any](w io.Writer, all []T) error {
	for _, v := range all {
		if err := printJSON(w, v); err != nil {
			return err
		}
	}

	return nil
}

// stamp formats a time as RFC 3339 in UTC.
func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }

// stampOf formats like stamp, and an unknown time as "-".
func stampOf(t time.Time) string {
	if t.IsZero() {
		return "-"
	}

	return stamp(t)
}

// printMore prints how to read the next page, if there is one. It passes err on.
func printMore(out io.Writer, next string, err error) error {
	if err == nil && next != "" {
		_, err = fmt.Fprintf(out, "more: --after %s\n", next)
	}
	return err
}
