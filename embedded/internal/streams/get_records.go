package streams

import (
	"cmp"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"ratchet/embedded/internal/wire"
)

// Limits of one GetRecords: records, and bytes of records.
// Source: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_streams_GetRecords.html
const (
	maxRecords     = 1000
	maxRecordBytes = 1 << 20
)

// firstRoom is the memory with which an answer begins.
const firstRoom = 1 << 10

type getRecordsIn struct {
	ShardIterator *string
	Limit         *int64
}

func (s *Service) getRecords(_ context.Context, in *getRecordsIn) (any, error) {
	if in.ShardIterator == nil {
		return nil, wire.Missing("shardIterator")
	}

	if err := wire.Within(in.Limit, "limit", 1, maxRecords); err != nil {
		return nil, err
	}

	limit := maxRecords
	if in.Limit != nil {
		limit = int(*in.Limit)
	}

	arn, it, err := parseIterator(*in.ShardIterator)
	if err != nil {
		return nil, wire.Invalid("Invalid ShardIterator: %v", err)
	}

	now := s.cfg.Clock.Now()
	if now.Sub(it.issued) > iteratorLife {
		return nil, wire.Errorf("ExpiredIteratorException",
			"Iterator expired. The iterator was created at time %s while right now it is %s "+
				"which is further in the future than the tolerated delay of %d milliseconds.",
			it.issued.UTC().Format(time.UnixDate), now.UTC().Format(time.UnixDate), iteratorLife.Milliseconds())
	}

	st, err := s.streamOf(&arn)
	if err != nil {
		return nil, err
	}

	p := page{region: s.cfg.Region, limit: limit, out: append(make([]byte, 0, firstRoom), `{"Records":[`...)}

	next, more, err := st.read(it.shard, it.next, &p)
	if err != nil {
		return nil, err
	}

	out := append(p.out, ']')

	// Without a NextShardIterator the reader knows that the shard is closed and read to its end,
	// and goes on with the children. Each new iterator lives for another 15 minutes.
	if more {
		out = append(out, `,"NextShardIterator":`...)
		// AppendQuote fails only for text that is not UTF-8; an iterator is ASCII.
		out, _ = jsontext.AppendQuote(out, iterator{shard: it.shard, next: next, issued: now}.text(arn))
	}

	return json.RawMessage(append(out, '}')), nil
}

// read fills the page with the records of shard no from position next on, and returns the
// position after them. more is false when the shard is closed and has no more records. read
// holds s.mu, so that trim cannot remove records while they are read.
func (s *Stream) read(no uint64, next sequence, p *page) (_ sequence, more bool, err error) {
	s.mu.RLock()
	defer s.mu.RUnlock()

	byNumber := func(sh *shard, no uint64) int { return cmp.Compare(sh.record.No, no) }
	at, found := slices.BinarySearchFunc(s.all, no, byNumber)

	// Only trim removes shards, so the records of a missing shard were trimmed.
	if !found {
		return 0, false, trimmed(fmt.Sprintf("number %d of %s is gone", no, s.record.ARN))
	}

	sh := s.all[at]

	r := &sh.record

	// Position 0 is TRIM_HORIZON: it begins with the oldest record that is left and is never
	// trimmed.
	if next != 0 && next < r.Horizon {
		return 0, false, trimmed(r.ID)
	}

	// The shard looks idle: it returns no records, and the position stays.
	if sh.stalled.Load() {
		return next, true, nil
	}

	// Readers see only records that are on disk. A closed shard has only such records.
	tip := sequence(sh.durable.Load())
	full := false
	if next <= tip {
		err = s.db.Scan(sh.key(next), sh.key(tip+1), false, func(k, v []byte) (bool, error) {
			seq := sequence(binary.BigEndian.Uint64(k[len(sh.prefix):]))
			if fits, err := p.add(s, seq, v); err != nil {
				return false, fmt.Errorf("read record %s of shard %s: %w", seq, r.ID, err)
			} else if !fits {
				next, full = seq, true
				return false, nil
			}

			return true, nil
		})
		if err != nil {
			return 0, false, err
		}
	}

	if full {
		return next, true, nil
	}

	// While the shard has no record, position 0 stays 0 and still means the oldest record.
	if tip > 0 {
		next = max(next, tip+1)
	}

	return next, r.End == 0, nil
}
