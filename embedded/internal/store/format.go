package store

import (
	"errors"
	"fmt"
)

// format is the number of the form in which the services of the engine keep their data. Raise it
// only if a program that knows only the previous number would misread the data. Pebble has a number
// of its own.
const format = "1"

// formatKey has the number. It is below the keys of all services, and each generation writes it, so that
// every key space with data has it.
var formatKey = []byte{0}

var errFormat = errors.New("open it with the version of the program that has written it")

// checkFormat refuses data of another format, before anything is written.
func (d *DB) checkFormat() error {
	found, written, err := d.Get(formatKey)
	if err != nil || !written || string(found) == format {
		return err
	}

	return fmt.Errorf("its data has format %q, and this program reads format %q: %w", found, format, errFormat)
}
