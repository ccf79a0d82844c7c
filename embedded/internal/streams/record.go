package streams

import (
	"fmt"
	"strconv"

	"ratchet/embedded/internal/attr"
)

var eventNames = map[Event]string{Insert: "INSERT", Modify: "MODIFY", Remove: "REMOVE"}

// appendJSON appends the record as GetRecords returns it.
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
	// The mark by which consumers recognize a removal by time to live.
	// Source: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/time-to-live-ttl-streams.html
	if c.Expired {
		dst = append(dst, `,"userIdentity":{"Type":"Service","PrincipalId":"dynamodb.amazonaws.com"}`...)
	}

	return append(dst, '}'), nil
}
