package retryqueue

import (
	"encoding/hex"
	"strings"
	"time"

	ddbtypes "github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/internal/dynamo"
	"ratchet/streams/store"
)

// The retry queue is part of the dead-letter table. Its partition key is "retries/", the name of
// the stream's table and the handler's name. Each item that waits for the handler has one row with
// the list of its records, oldest first; the records themselves are in parts (see store.Parts).
// Records that are delivered again on request are in a list of their own, replays. They are older
// than the waiting records and are delivered first.
const (
	SourcePrefix    = "retries/"
	retryRowPrefix  = "item/" // before the hash of the item's key
	retryPartPrefix = "record/"

	retryRecords   = "records"
	retrySequence  = "sequence" // in an element of records
	retryParts     = "parts"    // in an element of records
	retryToken     = "token"    // in an element of records
	retryEpoch     = "epoch"    // in an element of records: of the lease under which the record was put there
	retryPartsEnd  = "partsEnd" // the earliest end of the row's parts
	retryHolder    = "holder"   // epoch of the queue's lease whose holder has begun with the row
	retryLetter    = "letter"   // in an element of replays: id of the dead letter that the element redrives
	retryLast      = "last"     // sequence number of the newest record, with leading zeros
	retryAttempts  = "attempts" // of the oldest record
	retrySince     = "since"    // when the oldest record first failed
	retryNextTry   = "nextTry"
	retryError     = "error"
	retryReplays   = "replays"
	retryTries     = "tries"          // calls for the oldest record that were begun and have not returned
	retryTriedBy   = "triedBy"        // worker that has begun the last of these calls
	retryAddition  = "addition"       // token of the newest addition to replays
	replayAttempts = "replayAttempts" // of the oldest replay
	replaySince    = "replaySince"
	replayTries    = "replayTries"
	replayTriedBy  = "replayTriedBy"
	maxRowRecords  = 100 // about 10 KB; see retryMore for the next ones
)

func rowID(h store.ItemHash) string { return retryRowPrefix + h.Text() }

// partsID is the prefix of the ids of the parts of one of the item's records.
func partsID(h store.ItemHash, sequence string) string {
	return retryPartPrefix + h.Text() + "/" + sequence
}

// parseRowID is the reverse of rowID.
func parseRowID(id string) (store.ItemHash, bool) {
	digits, ok := strings.CutPrefix(id, retryRowPrefix)

	raw, err := hex.DecodeString(digits)
	if !ok || err != nil || len(raw) != len(store.ItemHash{}) {
		return store.ItemHash{}, false
	}

	return store.ItemHash(raw), true
}

// Row is the state of one item that waits for a handler.
type Row struct {
	Hash     store.ItemHash
	Keys     dynamo.Item // of the item
	Replays  []Waiting   // records to deliver again, before records
	Records  []Waiting   // oldest first
	More     int         // how many newer records have rows of their own
	last     string      // sequence number of the newest record, with leading zeros
	Attempts int         // of the first record
	Since    time.Time   // when the first record first failed
	NextTry  time.Time
	LastErr  string
	PartsEnd time.Time // the earliest end of its parts
	Tries    TryCount  // of the first record
	// Holder is the epoch of the queue's lease under which this worker writes the row. It is set by
	// the worker and not read from the row.
	Holder int64
	// refused is set if the row has a newer format. Then only hash is set, too.
	refused error
}

// TryCount counts the calls for a record that were begun and have not returned. Workers count only
// while the queue's lease is suspect. by is the worker that has begun the last of these calls.
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

// First returns the record that is delivered next. The row must not be empty.
func (r Row) First() Waiting {
	if len(r.Replays) > 0 {
		return r.Replays[0]
	}

	return r.Records[0]
}

// Length returns the number of records in the row itself.
func (r Row) Length() int { return len(r.Replays) + len(r.Records) }

// Empty reports that no record of the item waits.
func (r Row) Empty() bool { return r.Length() == 0 && r.More == 0 }

// firstNames are the attributes that describe the first record of a row.
type firstNames struct{ list, attempts, since, tries, triedBy string }

// names returns the attributes that describe the row's first record.
func (r Row) names() firstNames {
	if len(r.Replays) > 0 {
		return firstNames{retryReplays, replayAttempts, replaySince, replayTries, replayTriedBy}
	}

	return firstNames{retryRecords, retryAttempts, retrySince, retryTries, retryTriedBy}
}

// ifFirst is the condition that the row's first record is still the one with :sequence and
// :token.
func (r Row) ifFirst() string {
	list := r.names().list
	return "#" + list + "[0].#sequence = :sequence AND #" + list + "[0].#token = :token"
}

// Waiting is one record of a Row.
type Waiting struct {
	Sequence   string
	Parts      store.PartsRef // the token is unique among the records of a row
	Epoch      int64          // of the shard's lease, see judge; 0 for replays
	DeadLetter string         // id of the dead letter to redrive; then parts has only the token
}

func decodeRetryRow(row dynamo.Item) (Row, bool) {
	hash, ok := parseRowID(dynamo.Text(row, store.ID))
	if !ok {
		return Row{}, false
	}

	if err := store.CheckFormat(row, store.QueueRowFormat, "row "+rowID(hash)+" of "+dynamo.Text(row, store.Source)); err != nil {
		return Row{Hash: hash, refused: err}, true
	}

	out := Row{
		Hash:     hash,
		Replays:  decodeWaitingRecords(row[retryReplays], hash),
		Records:  decodeWaitingRecords(row[retryRecords], hash),
		More:     int(dynamo.Number(row, retryMore)),
		last:     dynamo.Text(row, retryLast),
		NextTry:  dynamo.Time(row, retryNextTry),
		LastErr:  dynamo.Text(row, retryError),
		PartsEnd: dynamo.Time(row, retryPartsEnd),
	}
	names := out.names()
	out.Attempts, out.Since = int(dynamo.Number(row, names.attempts)), dynamo.Time(row, names.since)
	out.Tries = TryCount{int(dynamo.Number(row, names.tries)), dynamo.Text(row, names.triedBy)}

	if keys, _ := row[store.Keys].(*ddbtypes.AttributeValueMemberM); keys != nil {
		out.Keys = keys.Value
	}

	return out, true
}

func decodeWaitingRecords(list ddbtypes.AttributeValue, hash store.ItemHash) []Waiting {
	l, _ := list.(*ddbtypes.AttributeValueMemberL)
	if l == nil {
		return nil
	}

	out := make([]Waiting, len(l.Value))
	for i, element := range l.Value {
		out[i] = decodeWaitingRecord(element, hash)
	}

	return out
}

func decodeWaitingRecord(element ddbtypes.AttributeValue, hash store.ItemHash) Waiting {
	m, _ := element.(*ddbtypes.AttributeValueMemberM)
	if m == nil {
		return Waiting{}
	}
	sequence := dynamo.Text(m.Value, retrySequence)

	return Waiting{
		Sequence: sequence,
		Parts: store.PartsRef{
			ID:    partsID(hash, sequence),
			Token: dynamo.Text(m.Value, retryToken),
			Count: int(dynamo.Number(m.Value, retryParts)),
		},
		Epoch:      dynamo.Number(m.Value, retryEpoch),
		DeadLetter: dynamo.Text(m.Value, retryLetter),
	}
}

// Encode returns the reference as an attribute of the row.
func (w Waiting) Encode() ddbtypes.AttributeValue {
	m := dynamo.Item{
		retrySequence: dynamo.S(w.Sequence),
		retryToken:    dynamo.S(w.Parts.Token),
		retryParts:    dynamo.N(int64(w.Parts.Count)),
	}
	if w.Epoch != 0 {
		m[retryEpoch] = dynamo.N(w.Epoch)
	}

	if w.DeadLetter != "" {
		m[retryLetter] = dynamo.S(w.DeadLetter)
	}

	return dynamo.M(m)
}
