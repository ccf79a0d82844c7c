package terminal

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode"
)

// PrintJSON prints the value as one line of JSON.
func PrintJSON(w io.Writer, v any) error {
	line, err := json.Marshal(v)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(w, string(line))

	return err
}

// PrintLines prints each value as one line of JSON.
func PrintLines[T any](w io.Writer, all []T) error {
	for _, v := range all {
		if err := PrintJSON(w, v); err != nil {
			return err
		}
	}

	return nil
}

// Stamp formats a time as RFC 3339 in UTC.
func Stamp(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }

// StampOf formats like stamp, and an unknown time as "-".
func StampOf(t time.Time) string {
	if t.IsZero() {
		return "-"
	}

	return Stamp(t)
}

// PrintMore prints how to read the next page, if there is one. It passes err on.
func PrintMore(out io.Writer, next string, err error) error {
	if err == nil && next != "" {
		_, err = fmt.Fprintf(out, "more: --after %s\n", next)
	}
	return err
}

// OneLine replaces control characters, which could change the terminal or the table.
func OneLine(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return '?'
		}

		return r
	}, text)
}

// OrDash returns the text, or a dash in the place of an empty one.
func OrDash(s string) string {
	if s == "" {
		return "-"
	}

	return s
}
