package store

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
	Format = "format"

	QueueRowFormat   = 1
	QueueKeysFormat  = 1
	DeadLetterFormat = 1
	PositionFormat   = 1
)

// KnownFormat is the condition that a row does not exist or has a format up to :format.
const KnownFormat = "attribute_not_exists(#" + Format + ") OR #" + Format + " <= :format"

// ErrNewerFormat reports a row of a newer format.
var ErrNewerFormat = errors.New("streams: the row has a newer format than this program reads")

// CheckFormat returns an error if the row has a higher format than known. what names the row.
func CheckFormat(row dynamo.Item, known int64, what string) error {
	format := dynamo.Number(row, Format)
	if format <= known {
		return nil
	}

	return fmt.Errorf("%w: %s has format %d, this program reads formats up to %d", ErrNewerFormat, what, format, known)
}

// IfFormat adds the condition KnownFormat.
func IfFormat(update *dynamo.Update, known int64) *dynamo.Update {
	return update.If(KnownFormat).Bind(":format", dynamo.N(known))
}
