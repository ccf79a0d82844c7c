package streams

import (
	"cmp"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"ratchet/embedded/internal/attr"
	"ratchet/embedded/internal/wire"
)

// Limits of one GetRecords.
const (
	maxRecords     = 1000
	maxRecordBytes = 1 << 20
)

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

	now := time.Now()
	if now.Sub(it.issued) > iteratorLife {
		return nil, wire.Errorf("ExpiredIteratorException",
			"Iterator expired. The iterator was created at time %s while right now it is %s which is further in the future than the tolerated delay of %d milliseconds.",
			it.issued.UTC().Format(time.UnixDate), now.UTC().Format(time.UnixDate), iteratorLife.Milliseconds())
	}

	st, err := s.named(&arn)
	if err != nil {
		return nil, err
	}
	p := page{region: s.cfg.Region, limit: limit}

	next, more, err := st.read(it.shard, it.next, &p)
	if err != nil {
		return nil, err
	}

	out := append(make([]byte, 0, len(p.out)+256), `{"Records":[`...)
	out = append(append(out, p.out...), ']')
	if more {
		out = append(out, `,"NextShardIterator":`...)
		out, _ = jsontext.AppendQuote(out, iterator{it.shard, next, now}.text(arn)) // ASCII cannot fail
	}

	return json.RawMessage(append(out, '}')), nil
}

// read fills the page from position next on and returns the position behind it;
// more is false when the shard is closed and drained. It holds mu, so that what
// it reads cannot be trimmed under it.
func (s *Stream) read(no uint64, next sequence, p *page) (_ sequence, more bool, err error) {
	s.mu.RLock()
	defer s.mu.RUnlock()

	at, found := slices.BinarySearchFunc(s.all, no, func(sh *shard, no uint64) int { return cmp.Compare(sh.record.No, no) })
	if !found {
		return 0, false, trimmed(fmt.Sprintf("number %d of %s is gone", no, s.record.ARN))
	}
	sh := s.all[at]

	r := &sh.record
	if next != 0 && next < r.Horizon {
		return 0, false, trimmed(r.ID)
	}
	// Only what is on disk is shown. A closed shard's records all are.
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

	if tip > 0 {
		next = max(next, tip+1)
	}

	return next, r.End == 0, nil
}

// page collects records as JSON.
type page struct {
	region       string
	limit        int
	count, bytes int
	out          []byte
}

// add appends one record, unless the page is full without it.
func (p *page) add(st *Stream, seq sequence, raw []byte) (fits bool, err error) {
	if p.count == p.limit {
		return false, nil
	}

	c, err := decodeChange(raw) // it shares raw's bytes, which end with this call
	if err != nil {
		return false, err
	}

	if p.count > 0 && p.bytes+c.Size > maxRecordBytes {
		return false, nil
	}

	if p.count > 0 {
		p.out = append(p.out, ',')
	}
	p.count++
	p.bytes += c.Size
	p.out, err = c.appendJSON(p.out, st, seq, p.region)

	return true, err
}

var eventNames = map[Event]string{Insert: "INSERT", Modify: "MODIFY", Remove: "REMOVE"}

// appendJSON appends the record as GetRecords shows it.
func (c *Change) appendJSON(dst []byte, st *Stream, seq sequence, region string) ([]byte, error) {
	dst = append(dst, `{"eventID":"`...)
	dst = fmt.Appendf(dst, "%016x%016x", mix(st.record.No), mix(uint64(seq)))
	dst = append(dst, `","eventName":"`...)
	dst = append(dst, eventNames[c.Event]...)
	dst = append(dst, `","eventVersion":"1.1","eventSource":"aws:dynamodb","awsRegion":"`...)

	dst = append(dst, region...)
	dst = append(dst, `","dynamodb":{"ApproximateCreationDateTime":`...)
	dst = strconv.AppendInt(dst, seq.time().Unix(), 10) // whole seconds, as on AWS
	for _, part := range []struct {
		name string
		raw  []byte
	}{
		{name: "Keys", raw: c.Keys},
		{name: "NewImage", raw: c.New},
		{name: "OldImage", raw: c.Old}} {
		if len(part.raw) == 0 {
			continue
		}

		item, err := attr.DecodeBinary(part.raw)
		if err != nil {
			return dst, fmt.Errorf("decode %s: %w", part.name, err)
		}
		dst = append(append(append(dst, `,"`...), part.name...), `":`...)
		dst = item.AppendJSON(dst)
	}

	dst = append(append(append(dst, `,"SequenceNumber":"`...), seq.String()...), `","SizeBytes":`...)
	dst = strconv.AppendInt(dst, int64(c.Size), 10)
	dst = append(append(append(dst, `,"StreamViewType":"`...), st.record.View...), `"}`...)
	if c.Expired {
		dst = append(dst, `,"userIdentity":{"Type":"Service","PrincipalId":"dynamodb.amazonaws.com"}`...)
	}

	return append(dst, '}'), nil
}

// decodeChange undoes encode. The parts share raw's bytes.
func decodeChange(raw []byte) (*Change, error) {
	short := errors.New("the record is cut short")
	if len(raw) < 2 {
		return nil, short
	}
	c := &Change{Event: Event(raw[0]), Expired: raw[1]&flagExpired != 0}
	raw = raw[2:]

	size, width := binary.Uvarint(raw)
	if width <= 0 {
		return nil, short
	}

	c.Size, raw = int(size), raw[width:]
	for _, part := range []*[]byte{&c.Keys, &c.New, &c.Old} {
		n, width := binary.Uvarint(raw)
		if width <= 0 || n > uint64(len(raw)-width) {
			return nil, short
		}
		raw = raw[width:]
		*part, raw = raw[:n:n], raw[n:]
	}

	return c, nil
}
