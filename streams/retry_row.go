package streams

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"time"

	ddbtypes "github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/internal/dynamo"
)

// The retry queue is part of the dead-letter table. Its partition key is "retries/", the name of
// the stream's table and the handler's name. Each item that waits for the handler has one row with
// the list of its records, oldest first; the records themselves are in parts (see recordParts).
// Records that are delivered again on request are in a list of their own, replays. They are older
// than the waiting records and are delivered first.
const (
	retrySourcePrefix = "retries/"
	retryRowPrefix    = "item/" // before the hash of the item's key
	retryPartPrefix   = "record/"

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

// laneHash identifies an item for one handler.
type laneHash [16]byte

func hashLane(key string) laneHash {
	sum := sha256.Sum256([]byte(key))
	return laneHash(sum[:])
}

func (h laneHash) text() string { return hex.EncodeToString(h[:]) }

func (h laneHash) rowID() string { return retryRowPrefix + h.text() }

// partsID is the prefix of the ids of the parts of one of the item's records.
func (h laneHash) partsID(sequence string) string {
	return retryPartPrefix + h.text() + "/" + sequence
}

// parseRowID is the reverse of rowID.
func parseRowID(id string) (laneHash, bool) {
	digits, ok := strings.CutPrefix(id, retryRowPrefix)

	raw, err := hex.DecodeString(digits)
	if !ok || err != nil || len(raw) != len(laneHash{}) {
		return laneHash{}, false
	}

	return laneHash(raw), true
}

// retryRow is the state of one item that waits for a handler.
type retryRow struct {
	hash     laneHash
	keys     dynamo.Item     // of the item
	replays  []waitingRecord // records to deliver again, before records
	records  []waitingRecord // oldest first
	more     int             // how many newer records have rows of their own
	last     string          // sequence number of the newest record, with leading zeros
	attempts int             // of the first record
	since    time.Time       // when the first record first failed
	nextTry  time.Time
	lastErr  string
	partsEnd time.Time // the earliest end of its parts
	tries    tryCount  // of the first record
	// holder is the epoch of the queue's lease under which this worker writes the row. It is set by
	// the worker and not read from the row.
	holder int64
	// refused is set if the row has a newer format. Then only hash is set, too.
	refused error
}

// tryCount counts the calls for a record that were begun and have not returned. Workers count only
// while the queue's lease is suspect. by is the worker that has begun the last of these calls.
type tryCount struct {
	count int
	by    string
}

// ofOthers returns how many of the calls have ended their worker. The worker me is alive, so the
// last call does not count if me has begun it: only the answer to a write of me was lost.
func (c tryCount) ofOthers(me string) int {
	if c.by == me {
		return c.count - 1
	}

	return c.count
}

// first returns the record that is delivered next. The row must not be empty.
func (r retryRow) first() waitingRecord {
	if len(r.replays) > 0 {
		return r.replays[0]
	}

	return r.records[0]
}

// length returns the number of records in the row itself.
func (r retryRow) length() int { return len(r.replays) + len(r.records) }

// empty reports that no record of the item waits.
func (r retryRow) empty() bool { return r.length() == 0 && r.more == 0 }

// firstNames are the attributes that describe the first record of a row.
type firstNames struct{ list, attempts, since, tries, triedBy string }

// names returns the attributes that describe the row's first record.
func (r retryRow) names() firstNames {
	if len(r.replays) > 0 {
		return firstNames{retryReplays, replayAttempts, replaySince, replayTries, replayTriedBy}
	}

	return firstNames{retryRecords, retryAttempts, retrySince, retryTries, retryTriedBy}
}

// ifFirst is the condition that the row's first record is still the one with :sequence and
// :token.
func (r retryRow) ifFirst() string {
	list := r.names().list
	return "#" + list + "[0].#sequence = :sequence AND #" + list + "[0].#token = :token"
}

// waitingRecord is one record of a retryRow.
type waitingRecord struct {
	sequence   string
	parts      partsRef // the token is unique among the records of a row
	epoch      int64    // of the shard's lease, see judge; 0 for replays
	deadLetter string   // id of the dead letter to redrive; then parts has only the token
}

func decodeRetryRow(row dynamo.Item) (retryRow, bool) {
	hash, ok := parseRowID(dynamo.Text(row, deadLetterID))
	if !ok {
		return retryRow{}, false
	}

	if err := checkFormat(row, retryRowFormat, "row "+hash.rowID()+" of "+dynamo.Text(row, deadLetterSource)); err != nil {
		return retryRow{hash: hash, refused: err}, true
	}

	out := retryRow{
		hash:     hash,
		replays:  decodeWaitingRecords(row[retryReplays], hash),
		records:  decodeWaitingRecords(row[retryRecords], hash),
		more:     int(dynamo.Number(row, retryMore)),
		last:     dynamo.Text(row, retryLast),
		nextTry:  dynamo.Time(row, retryNextTry),
		lastErr:  dynamo.Text(row, retryError),
		partsEnd: dynamo.Time(row, retryPartsEnd),
	}
	names := out.names()
	out.attempts, out.since = int(dynamo.Number(row, names.attempts)), dynamo.Time(row, names.since)
	out.tries = tryCount{int(dynamo.Number(row, names.tries)), dynamo.Text(row, names.triedBy)}

	if keys, _ := row[deadLetterKeys].(*ddbtypes.AttributeValueMemberM); keys != nil {
		out.keys = keys.Value
	}

	return out, true
}

func decodeWaitingRecords(list ddbtypes.AttributeValue, hash laneHash) []waitingRecord {
	l, _ := list.(*ddbtypes.AttributeValueMemberL)
	if l == nil {
		return nil
	}

	out := make([]waitingRecord, len(l.Value))
	for i, element := range l.Value {
		out[i] = decodeWaitingRecord(element, hash)
	}

	return out
}

func decodeWaitingRecord(element ddbtypes.AttributeValue, hash laneHash) waitingRecord {
	m, _ := element.(*ddbtypes.AttributeValueMemberM)
	if m == nil {
		return waitingRecord{}
	}
	sequence := dynamo.Text(m.Value, retrySequence)

	return waitingRecord{
		sequence: sequence,
		parts: partsRef{
			id:    hash.partsID(sequence),
			token: dynamo.Text(m.Value, retryToken),
			count: int(dynamo.Number(m.Value, retryParts)),
		},
		epoch:      dynamo.Number(m.Value, retryEpoch),
		deadLetter: dynamo.Text(m.Value, retryLetter),
	}
}

func (w waitingRecord) encode() ddbtypes.AttributeValue {
	m := dynamo.Item{
		retrySequence: dynamo.S(w.sequence),
		retryToken:    dynamo.S(w.parts.token),
		retryParts:    dynamo.N(int64(w.parts.count)),
	}
	if w.epoch != 0 {
		m[retryEpoch] = dynamo.N(w.epoch)
	}

	if w.deadLetter != "" {
		m[retryLetter] = dynamo.S(w.deadLetter)
	}

	return dynamo.M(m)
}

// sequenceDigits is how many digits a sequence number may have.
const sequenceDigits = 40

// paddedSequence returns the sequence number with leading zeros, so that sequence
// numbers sort as text. They have up to 40 digits.
func paddedSequence(sequence string) string {
	sequence = strings.TrimLeft(sequence, "0")
	return strings.Repeat("0", max(0, sequenceDigits-len(sequence))) + sequence
}
