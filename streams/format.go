package streams

import (
	"errors"
	"fmt"

	"ratchet/internal/dynamo"
)

// Rows that only this package reads, and reads as a whole, have the number of their format. The
// number is raised only if an older reader would misread the new format. A reader refuses a row
// with a higher number than it knows, names the row in the error and leaves it as it is, for a
// worker that knows the format.
const (
	rowFormat = "format"

	retryRowFormat   = 1
	deadLetterFormat = 1
	rebuildRowFormat = 1
)

// knownFormat is the condition that a row does not exist or has a format up to :format.
const knownFormat = "attribute_not_exists(#" + rowFormat + ") OR #" + rowFormat + " <= :format"

// errNewerFormat reports a row of a newer format.
var errNewerFormat = errors.New("streams: the row has a newer format than this program reads")

// checkFormat returns an error if the row has a higher format than known. what names the row.
func checkFormat(row dynamo.Item, known int64, what string) error {
	format := dynamo.Number(row, rowFormat)
	if format <= known {
		return nil
	}

	return fmt.Errorf("%w: %s has format %d, this program reads formats up to %d", errNewerFormat, what, format, known)
}

// ifFormat adds the condition knownFormat.
func ifFormat(update *dynamo.Update, known int64) *dynamo.Update {
	return update.If(knownFormat).Bind(":format", dynamo.N(known))
}
