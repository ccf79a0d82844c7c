package streams

import (
	ddbtypes "github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	streamtypes "github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"
)

// fromSDK converts a record of the SDK.
func fromSDK(in streamtypes.Record) Record {
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

// convertValue converts a value: the SDK has the same types in the package of DynamoDB
// and in that of DynamoDB Streams. A type that is not known here becomes an
// UnknownUnionMember, never nil.
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
