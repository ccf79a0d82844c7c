package streams

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/internal/dynamo"
)

// Attributes of the rows of the dead-letter table.
const (
	deadLetterSource = "source" // partition key, of a dead letter "streams/" and the handler's name
	deadLetterID     = "id"     // sort key
	deadLetterKeys   = "keys"   // of the item
	deadLetterPart   = "part"   // in the row of a part: gzipped JSON
)

// Attributes of a dead letter.
const (
	deadLetterHandler      = "handler"
	deadLetterEventName    = "eventName"
	deadLetterRecord       = "record" // the whole record as JSON, if it is small enough
	deadLetterParts        = "parts"  // otherwise the number of its parts
	deadLetterPartsToken   = "partsToken"
	deadLetterError        = "error"
	deadLetterPermanent    = "permanent"
	deadLetterAttempts     = "attempts"
	deadLetterFailedAt     = "failedAt"
	deadLetterRedrives     = "redrives"
	deadLetterClaimedUntil = "claimedUntil"
	deadLetterQueuedAt     = "queuedAt"
)

// DeadLetterExpiryAttribute is the attribute for the dead-letter table's time to live.
const DeadLetterExpiryAttribute = "expireAt"

// deadLetterRetention is how long dead letters are kept. Claims of effects are kept for 30 days. A
// claim may be as old as the record's first attempt, three days before the dead letter. A redrive
// after the claim's deletion could repeat the effect, so dead letters are deleted earlier.
const deadLetterRetention = 21 * 24 * time.Hour

// maxErrorText is how much of an error's text is stored, in bytes.
const maxErrorText = 8 << 10

// DeadLetter is a record that a handler gave up on.
type DeadLetter struct {
	// ID is unique among the dead letters of a handler. The ids of one shard sort
	// in the order of the stream.
	ID      string
	Handler string
	// Keys is the item's primary key.
	Keys map[string]types.AttributeValue
	// Record is the whole record. List leaves Record nil if the record is very large; Get always
	// returns the record.
	Record *Record
	// Error is the error of the last attempt. Permanent says that the error was
	// marked with Permanent. Attempts is the number of calls before the record
	// became a dead letter.
	Error     string
	Permanent bool
	Attempts  int
	// Unreadable says why the record cannot be decoded. It is "" if the record can be decoded.
	Unreadable string
	// ExpiresAt is when the dead letter is deleted, zero for never.
	ExpiresAt time.Time
	// FailedAt is when the last attempt failed. Redrives is the number of failed
	// redrives.
	FailedAt time.Time
	Redrives int
	// QueuedAt is when the dead letter was put into the retry queue, where the workers
	// redrive it; zero if it is not there.
	QueuedAt time.Time
}

// deadLetterIDOf derives the id from the stream, the shard and the sequence number, so that a
// record has the same id whenever it is stored.
func deadLetterIDOf(r Record) string {
	table, label := splitStreamARN(r.StreamARN)
	return table + "/" + label + "/" + r.ShardID + "/" + paddedSequence(r.SequenceNumber)
}

// splitStreamARN returns the table's name and the label of a stream's ARN, which is
// arn:aws:dynamodb:<region>:<account>:table/<table>/stream/<label>.
func splitStreamARN(arn string) (table, label string) {
	if i := strings.Index(arn, ":table/"); i >= 0 {
		arn = arn[i+len(":table/"):]
	}
	table, label, _ = strings.Cut(arn, "/stream/")

	return table, label
}

// deadLetterRowKey is the key of any row of the dead-letter table.
func deadLetterRowKey(source, id string) dynamo.Item {
	return dynamo.Item{deadLetterSource: dynamo.S(source), deadLetterID: dynamo.S(id)}
}

// partsOf returns the reference to the parts of a dead letter's record.
func partsOf(row dynamo.Item) partsRef {
	return partsRef{
		id:    dynamo.Text(row, deadLetterID),
		token: dynamo.Text(row, deadLetterPartsToken),
		count: int(dynamo.Number(row, deadLetterParts)),
	}
}

const deadLetterSourcePrefix = "streams/"

// expired reports whether the dead letter waits for its deletion by time to live.
func (l DeadLetter) expired(now time.Time) bool {
	return !l.ExpiresAt.IsZero() && !now.Before(l.ExpiresAt)
}

// checkDeadLetter returns ErrUnreadable for a dead letter of a newer format.
func checkDeadLetter(row dynamo.Item) error {
	what := "dead letter " + dynamo.Text(row, deadLetterID) + " of " + dynamo.Text(row, deadLetterHandler)
	if err := checkFormat(row, deadLetterFormat, what); err != nil {
		return fmt.Errorf("%w: %w", ErrUnreadable, err)
	}

	return nil
}

func decodeDeadLetter(row dynamo.Item) (DeadLetter, error) {
	if err := checkDeadLetter(row); err != nil {
		return DeadLetter{ID: dynamo.Text(row, deadLetterID), Handler: dynamo.Text(row, deadLetterHandler), Unreadable: err.Error()}, err
	}

	letter := DeadLetter{
		ID:        dynamo.Text(row, deadLetterID),
		Handler:   dynamo.Text(row, deadLetterHandler),
		Error:     dynamo.Text(row, deadLetterError),
		Permanent: dynamo.Flag(row, deadLetterPermanent),
		Attempts:  int(dynamo.Number(row, deadLetterAttempts)),
		FailedAt:  dynamo.Time(row, deadLetterFailedAt),
		Redrives:  int(dynamo.Number(row, deadLetterRedrives)),
		QueuedAt:  dynamo.Time(row, deadLetterQueuedAt),
	}

	if keys, _ := row[deadLetterKeys].(*types.AttributeValueMemberM); keys != nil {
		letter.Keys = keys.Value
	}

	if seconds := dynamo.Number(row, DeadLetterExpiryAttribute); seconds != 0 {
		letter.ExpiresAt = time.Unix(seconds, 0)
	}

	if body := dynamo.Text(row, deadLetterRecord); body != "" {
		r, err := decodeRecord([]byte(body))
		if err != nil {
			letter.Unreadable = err.Error()
			return letter, fmt.Errorf("%w: %s: %w", ErrUnreadable, letter.ID, err)
		}
		letter.Record = &r
	}

	return letter, nil
}

// errorText returns the error's text as it is stored: valid UTF-8 of at most
// maxErrorText bytes.
func errorText(err error) string {
	if err == nil {
		return ""
	}

	text := strings.ToValidUTF8(err.Error(), "\uFFFD")
	if len(text) <= maxErrorText {
		return text
	}

	// The cut may be inside a character, whose bytes are dropped.
	text = text[:maxErrorText]
	for !utf8.ValidString(text) {
		text = text[:len(text)-1]
	}

	return text
}
