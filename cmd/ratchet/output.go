package main

import (
	"encoding/json"
	"fmt"
	"io"
	"time"
)

// printJSON writes one value as one line.
func printJSON(w io.Writer, v any) error {
	line, err := json.Marshal(v)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(w, string(line))

	return err
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }

// printMore says how to go on, when there is more.
func printMore(out io.Writer, next string, err error) error {
	if err == nil && next != "" {
		_, err = fmt.Fprintf(out, "more: --after %s\n", next)
	}
	return err
}
