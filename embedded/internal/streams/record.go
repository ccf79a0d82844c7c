package streams

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"strconv"

	"ratchet/embedded/internal/attr"
)

// name returns the event as GetRecords names it.
func (e Event) name() string {
	switch e {
	case Insert:
		return "INSERT"
	case Modify:
		return "MODIFY"
	default:
		return "REMOVE"
	}
}

// appendJSON appends the record as GetRecords returns it.
func (c *Change) appendJSON(dst []byte, st *Stream, seq sequence, region string) ([]byte, error) {
	// The eventID looks random but depends only on the stream and the sequence, so that every read
	// of a record returns the same one: consumers recognize repeated records by it.
	dst = append(dst, `{"eventID":"`...)
	dst = appendHex(appendHex(dst, mix(st.record.No)), mix(uint64(seq)))
	dst = append(dst, `","eventName":"`...)
	dst = append(dst, c.Event.name()...)
	dst = append(dst, `","eventVersion":"1.1","eventSource":"aws:dynamodb","awsRegion":"`...)

	dst = append(dst, region...)
	dst = append(dst, `","dynamodb":{"ApproximateCreationDateTime":`...)
	dst = strconv.AppendInt(dst, seq.time().Unix(), 10) // whole seconds, as on AWS

	for _, part := range [...]struct {
		name string
		raw  []byte
	}{
		{name: "Keys", raw: c.Keys},
		{name: "NewImage", raw: c.New},
		{name: "OldImage", raw: c.Old},
	} {
		// The view does not have the image, or there was no item before or after the change.
		if len(part.raw) == 0 {
			continue
		}

		dst = append(append(append(dst, `,"`...), part.name...), `":`...)

		var err error
		if dst, err = attr.AppendBinaryJSON(dst, part.raw); err != nil {
			return dst, fmt.Errorf("decode %s: %w", part.name, err)
		}
	}

	dst = append(seq.append(append(dst, `,"SequenceNumber":"`...)), `","SizeBytes":`...)
	dst = strconv.AppendInt(dst, int64(c.Size), 10)
	dst = append(append(append(dst, `,"StreamViewType":"`...), st.record.View...), `"}`...)
	// The mark by which consumers recognize a removal by time to live.
	// Source: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/time-to-live-ttl-streams.html
	if c.Expired {
		dst = append(dst, `,"userIdentity":{"Type":"Service","PrincipalId":"dynamodb.amazonaws.com"}`...)
	}

	return append(dst, '}'), nil
}

// appendHex appends 16 digits.
func appendHex(dst []byte, n uint64) []byte {
	return hex.AppendEncode(dst, binary.BigEndian.AppendUint64(make([]byte, 0, 8), n))
}
