package retryqueue

import (
	"encoding/hex"
	"strings"
	"time"

	ddbtypes "github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/internal/dynamo"
	"ratchet/streams/store"
)

// Ids and attributes of the rows. The package's comment describes them.
const (
	SourcePrefix  = "retries/"
	furtherPrefix = "retries+" // and the number of the key

	rowPrefix  = "item/"
	partPrefix = "part/"

	againKind  = "a" // records to deliver again, which come first
	recordKind = "b"

	rowRecord   = "record"
	rowParts    = "parts"
	rowToken    = "token"
	rowEpoch    = "epoch"
	rowHolder   = "holder"
	rowLetter   = "letter"
	rowAttempts = "attempts"
	rowSince    = "since"
	rowNextTry  = "nextTry"
	rowError    = "error"
	rowTries    = "tries"
	rowTriedBy  = "triedBy"
	rowUnsure   = "unsure"
	rowDone     = "done"
)

func itemPrefix(h store.ItemHash) string { return rowPrefix + h.Text() + "/" }

// recordID is the id of the row of a record of the stream.
func recordID(h store.ItemHash, sequence string) string {
	return itemPrefix(h) + recordKind + store.PaddedSequence(sequence)
}

// againID is the id of the row of a record that is delivered again. Several dead letters of an item may
// have the same sequence number.
func againID(h store.ItemHash, sequence, letter string) string {
	id := itemPrefix(h) + againKind + store.PaddedSequence(sequence)
	if letter != "" {
		id += "/" + store.HashOf(letter).Text()
	}

	return id
}

// Row is a record that waits for a handler.
type Row struct {
	Source     string         // partition key
	Hash       store.ItemHash // of the record's item
	Keys       dynamo.Item    // of the item
	Sequence   string         // its sequence number, with leading zeros
	Again      bool           // it is delivered again on request
	DeadLetter string         // id of the dead letter to redrive; such a row has no record
	Epoch      int64          // of the shard's lease under which the record was put here; 0 if it is delivered again
	Token      string         // of the write that has stored the row
	Attempts   int            // failed calls
	Since      time.Time      // when the first of them failed
	NextTry    time.Time
	LastErr    string
	Tries      TryCount
	Ends       time.Time // when time to live deletes the row
	// Holder is the epoch of the queue's lease under which this worker writes the row. It is set by
	// the worker and not read from the row.
	Holder int64
	// Unsure says that a write of the row may still arrive: it had no answer and was repeated.
	Unsure bool

	id     string
	record []byte // packed; nil if it is in parts, and in a list
	parts  int
	// refused is set if the row has a newer format. Then only Source, Hash and id are set, too.
	refused error
}

// TryCount counts the calls for a record that were begun and have not returned. Workers count only
// while the queue's lease is suspect. By is the worker that has begun the last of these calls.
type TryCount struct {
	Count int
	By    string
}

// OfOthers returns how many of the calls have ended their worker. The worker me is alive, so the
// last call does not count if me has begun it: only the answer to a write of me was lost.
func (c TryCount) OfOthers(me string) int {
	if c.By == me {
		return c.Count - 1
	}

	return c.Count
}

// hashOf returns the item of a row's id.
func hashOf(id string) (store.ItemHash, bool) {
	rest, ok := strings.CutPrefix(id, rowPrefix)
	digits, _, _ := strings.Cut(rest, "/")

	raw, err := hex.DecodeString(digits)
	if !ok || err != nil || len(raw) != len(store.ItemHash{}) {
		return store.ItemHash{}, false
	}

	return store.ItemHash(raw), true
}

// sequenceOf returns the sequence number in the id of an item's row.
func sequenceOf(id string, hash store.ItemHash) string {
	sequence, _, _ := strings.Cut(strings.TrimPrefix(id, itemPrefix(hash))[1:], "/")
	return sequence
}

// decode decodes a row and converts its times to the local clock. ok is false if it is none.
func (t *Table) decode(row dynamo.Item) (_ Row, ok bool) {
	id := dynamo.Text(row, store.ID)

	hash, ok := hashOf(id)
	if !ok {
		return Row{}, false
	}

	if err := store.CheckFormat(row, store.QueueRowFormat, "row "+id+" of "+dynamo.Text(row, store.Source)); err != nil {
		return Row{Source: dynamo.Text(row, store.Source), Hash: hash, id: id, refused: err}, true
	}

	out := Row{
		Source:     dynamo.Text(row, store.Source),
		Hash:       hash,
		Sequence:   sequenceOf(id, hash),
		Again:      strings.HasPrefix(id, itemPrefix(hash)+againKind),
		DeadLetter: dynamo.Text(row, rowLetter),
		Epoch:      dynamo.Number(row, rowEpoch),
		Token:      dynamo.Text(row, rowToken),
		Attempts:   int(dynamo.Number(row, rowAttempts)),
		Since:      t.Clock.LocalAt(dynamo.Time(row, rowSince)),
		NextTry:    t.Clock.LocalAt(dynamo.Time(row, rowNextTry)),
		LastErr:    dynamo.Text(row, rowError),
		Tries:      TryCount{int(dynamo.Number(row, rowTries)), dynamo.Text(row, rowTriedBy)},
		Ends:       time.Unix(dynamo.Number(row, store.Expiry), 0),
		Unsure:     dynamo.Flag(row, rowUnsure),
		id:         id,
		record:     dynamo.Bytes(row, rowRecord),
		parts:      int(dynamo.Number(row, rowParts)),
	}

	if keys, _ := row[store.Keys].(*ddbtypes.AttributeValueMemberM); keys != nil {
		out.Keys = keys.Value
	}

	return out, true
}

// encode returns the row as it is stored, without its record.
func (t *Table) encode(r Row) dynamo.Item {
	row := store.RowKey(r.Source, r.id)
	row[store.Format] = dynamo.N(store.QueueRowFormat)
	row[store.Keys] = dynamo.M(r.Keys)
	row[store.Expiry] = dynamo.Seconds(r.Ends)
	row[rowToken] = dynamo.S(r.Token)
	row[rowEpoch] = dynamo.N(r.Epoch)
	row[rowParts] = dynamo.N(int64(r.parts))
	row[rowAttempts] = dynamo.N(int64(r.Attempts))

	for name, text := range map[string]string{rowLetter: r.DeadLetter, rowError: r.LastErr} {
		if text != "" {
			row[name] = dynamo.S(text)
		}
	}

	for name, at := range map[string]time.Time{rowSince: r.Since, rowNextTry: r.NextTry} {
		if !at.IsZero() {
			row[name] = dynamo.Millis(t.Clock.Service(at))
		}
	}

	if r.record != nil {
		row[rowRecord] = dynamo.B(r.record)
	}

	if r.Unsure {
		row[rowUnsure] = dynamo.Bool(true)
	}

	return row
}
