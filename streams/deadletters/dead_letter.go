package deadletters

import (
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/internal/dynamo"
	"ratchet/streams"
	"ratchet/streams/store"
)

// Attributes of a dead letter.
const (
	deadLetterHandler      = "handler"
	deadLetterEventName    = "eventName"
	deadLetterRecord       = "record" // the whole record as JSON, if it is small enough
	deadLetterParts        = "parts"  // otherwise the number of its parts
	deadLetterError        = "error"
	deadLetterPermanent    = "permanent"
	deadLetterAttempts     = "attempts"
	deadLetterFailedAt     = "failedAt"
	deadLetterRedrives     = "redrives"
	deadLetterClaimedUntil = "claimedUntil"
	deadLetterQueuedAt     = "queuedAt"
)

// deadLetterRetention is how long dead letters are kept. Claims of effects are kept for 30 days. A
// claim may be as old as the record's first attempt, three days before the dead letter. A redrive
// after the claim's deletion could repeat the effect, so dead letters are deleted earlier.
const deadLetterRetention = 21 * 24 * time.Hour

// Letter is a record that a handler gave up on.
type Letter struct {
	// ID is unique among the dead letters of a handler. It begins with a hash of the item's key, so
	// that the dead letters of an item are found with one query. Those of one item and shard sort in
	// the order of the stream.
	ID      string
	Handler string
	// Keys is the item's primary key.
	Keys map[string]types.AttributeValue
	// Record is the whole record. List leaves Record nil if the record is very large; Get always
	// returns the record.
	Record *streams.Record
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

// idOf derives the id from the item, the stream, the shard and the sequence number, so that a
// record has the same id whenever it is stored.
func idOf(r streams.Record) string {
	table, label := store.SplitStreamARN(r.StreamARN)
	return idsOf(r.Keys) + table + "/" + label + "/" + r.ShardID + "/" + store.PaddedSequence(r.SequenceNumber)
}

// idsOf returns the text with which the ids of an item's dead letters begin.
func idsOf(keys dynamo.Item) string {
	return store.HashOf(store.ItemKey(streams.Record{Keys: keys})).Text() + "/"
}

// partsOf returns how many parts the dead letter's record has.
func partsOf(row dynamo.Item) int { return int(dynamo.Number(row, deadLetterParts)) }

const deadLetterSourcePrefix = "streams/"

// expired reports whether the dead letter waits for its deletion by time to live.
func (l Letter) expired(now time.Time) bool {
	return !l.ExpiresAt.IsZero() && !now.Before(l.ExpiresAt)
}

// checkDeadLetter returns ErrUnreadable for a dead letter of a newer format.
func checkDeadLetter(row dynamo.Item) error {
	what := "dead letter " + dynamo.Text(row, store.ID) + " of " + dynamo.Text(row, deadLetterHandler)
	if err := store.CheckFormat(row, store.DeadLetterFormat, what); err != nil {
		return fmt.Errorf("%w: %w", ErrUnreadable, err)
	}

	return nil
}

func decodeDeadLetter(row dynamo.Item) (Letter, error) {
	if err := checkDeadLetter(row); err != nil {
		return Letter{ID: dynamo.Text(row, store.ID), Handler: dynamo.Text(row, deadLetterHandler), Unreadable: err.Error()}, err
	}

	letter := Letter{
		ID:        dynamo.Text(row, store.ID),
		Handler:   dynamo.Text(row, deadLetterHandler),
		Error:     dynamo.Text(row, deadLetterError),
		Permanent: dynamo.Flag(row, deadLetterPermanent),
		Attempts:  int(dynamo.Number(row, deadLetterAttempts)),
		FailedAt:  dynamo.Time(row, deadLetterFailedAt),
		Redrives:  int(dynamo.Number(row, deadLetterRedrives)),
		QueuedAt:  dynamo.Time(row, deadLetterQueuedAt),
	}

	if keys, _ := row[store.Keys].(*types.AttributeValueMemberM); keys != nil {
		letter.Keys = keys.Value
	}

	if seconds := dynamo.Number(row, store.Expiry); seconds != 0 {
		letter.ExpiresAt = time.Unix(seconds, 0)
	}

	if body := dynamo.Text(row, deadLetterRecord); body != "" {
		return letter.withRecord([]byte(body))
	}

	return letter, nil
}

// withRecord returns the dead letter with its record, or with the reason why the record cannot be decoded.
func (l Letter) withRecord(body []byte) (Letter, error) {
	r, err := store.DecodeRecord(body)
	if err != nil {
		l.Unreadable = err.Error()
		return l, fmt.Errorf("%w: %s: %w", ErrUnreadable, l.ID, err)
	}
	l.Record = &r

	return l, nil
}
