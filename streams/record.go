package streams

import (
	"strconv"
	"strings"
	"time"

	ddbtypes "github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	streamtypes "github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"
)

// EventName says what happened to an item.
type EventName string

// The three kinds of change that DynamoDB reports.
const (
	Insert EventName = "INSERT"
	Modify EventName = "MODIFY"
	Remove EventName = "REMOVE"
)

// Record is one change of one item. Its maps are shared by every handler that
// gets the record: read them, never write to them.
type Record struct {
	// StreamARN and ShardID say where the record was read.
	StreamARN, ShardID string
	// SequenceNumber orders the records of one shard lineage; compare it with
	// CompareSequence, not as text.
	SequenceNumber string
	// EventID is the service's own id of the record. It differs between a stream
	// and its successor, so it is a poor idempotency key: use what the item says
	// about itself (an order and its transition, say).
	EventID   string
	EventName EventName
	// Keys is the item's primary key; Old and New are its images, as far as the
	// stream's view type carries them (nil otherwise, and where there is none).
	Keys, Old, New map[string]ddbtypes.AttributeValue
	// CreatedAt is when the change was made, floored to the second by the service.
	CreatedAt time.Time
	// SizeBytes is the size that the service states, 0 where it states none.
	SizeBytes int64
	// Identity is who changed the item when it was not a caller: the time-to-live
	// process names itself here. Zero for ordinary writes.
	Identity Identity
	// Owner and Epoch name the lease under which the record was handed over. The
	// epoch of a shard only grows: an effect that stores it can refuse a zombie.
	Owner string
	Epoch int64
	// Handler is the name of the handler that is being called and Attempt counts
	// its calls for this record, from 1.
	Handler string
	Attempt int
}

// Identity is the author of a change made by the service itself.
type Identity struct{ PrincipalID, Type string }

// ExpiredByTTL reports whether the item was removed by time to live, not by a
// caller.
func (r Record) ExpiredByTTL() bool {
	return r.EventName == Remove && r.Identity.Type == "Service" && r.Identity.PrincipalID == "dynamodb.amazonaws.com"
}

// Item is the newest image that the record carries: New, or Old for a removal.
func (r Record) Item() map[string]ddbtypes.AttributeValue {
	if r.New != nil {
		return r.New
	}
	return r.Old
}

// convert turns the reader's record into ours.
func convert(in streamtypes.Record) Record {
	out := Record{EventName: EventName(in.EventName), EventID: deref(in.EventID)}
	if in.UserIdentity != nil {
		out.Identity = Identity{PrincipalID: deref(in.UserIdentity.PrincipalId), Type: deref(in.UserIdentity.Type)}
	}

	d := in.Dynamodb
	if d == nil {
		return out
	}

	out.SequenceNumber = deref(d.SequenceNumber)
	out.Keys, out.Old, out.New = convertMap(d.Keys), convertMap(d.OldImage), convertMap(d.NewImage)
	if d.ApproximateCreationDateTime != nil {
		out.CreatedAt = *d.ApproximateCreationDateTime
	}

	if d.SizeBytes != nil {
		out.SizeBytes = *d.SizeBytes
	}

	return out
}

func deref(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

func convertMap(in map[string]streamtypes.AttributeValue) map[string]ddbtypes.AttributeValue {
	if in == nil {
		return nil
	}

	out := make(map[string]ddbtypes.AttributeValue, len(in))
	for k, v := range in {
		out[k] = convertValue(v)
	}

	return out
}

// convertValue maps the two SDK packages' twin types onto each other. A type
// that this SDK does not know becomes an UnknownUnionMember, never nil.
func convertValue(in streamtypes.AttributeValue) ddbtypes.AttributeValue {
	switch v := in.(type) {
	case *streamtypes.AttributeValueMemberS:
		return &ddbtypes.AttributeValueMemberS{Value: v.Value}
	case *streamtypes.AttributeValueMemberN:
		return &ddbtypes.AttributeValueMemberN{Value: v.Value}
	case *streamtypes.AttributeValueMemberBOOL:
		return &ddbtypes.AttributeValueMemberBOOL{Value: v.Value}
	case *streamtypes.AttributeValueMemberM:
		m := convertMap(v.Value)
		if m == nil {
			m = map[string]ddbtypes.AttributeValue{}
		}

		return &ddbtypes.AttributeValueMemberM{Value: m}
	case *streamtypes.AttributeValueMemberL:
		l := make([]ddbtypes.AttributeValue, len(v.Value))
		for i, e := range v.Value {
			l[i] = convertValue(e)
		}

		return &ddbtypes.AttributeValueMemberL{Value: l}
	case *streamtypes.AttributeValueMemberSS:
		return &ddbtypes.AttributeValueMemberSS{Value: v.Value}
	case *streamtypes.AttributeValueMemberNS:
		return &ddbtypes.AttributeValueMemberNS{Value: v.Value}
	case *streamtypes.AttributeValueMemberBS:
		return &ddbtypes.AttributeValueMemberBS{Value: v.Value}
	case *streamtypes.AttributeValueMemberB:
		return &ddbtypes.AttributeValueMemberB{Value: v.Value}
	case *streamtypes.AttributeValueMemberNULL:
		return &ddbtypes.AttributeValueMemberNULL{Value: v.Value}
	case *streamtypes.UnknownUnionMember:
		return &ddbtypes.UnknownUnionMember{Tag: v.Tag, Value: v.Value}
	default:
		return &ddbtypes.UnknownUnionMember{Tag: "unknown"}
	}
}

// itemKey is the default lane key: the primary key as text. A table's key
// attributes never change name or type, so the values alone tell items apart;
// where there are two, the first is written with its length.
func itemKey(r Record) string {
	if len(r.Keys) == 1 {
		for _, v := range r.Keys {
			return scalar(v)
		}
	}

	var first, a, b string
	for name, v := range r.Keys {
		if first == "" || name < first {
			first, a, b = name, scalar(v), a
		} else {
			b = scalar(v)
		}
	}
	var s strings.Builder
	s.Grow(len(a) + len(b) + 8)
	s.WriteString(strconv.Itoa(len(a)))
	s.WriteByte(':')
	s.WriteString(a)
	s.WriteString(b)

	return s.String()
}

func scalar(v ddbtypes.AttributeValue) string {
	switch v := v.(type) {
	case *ddbtypes.AttributeValueMemberS:
		return v.Value
	case *ddbtypes.AttributeValueMemberN:
		return v.Value
	case *ddbtypes.AttributeValueMemberB:
		return string(v.Value)
	}

	return ""
}
