package lineage

import (
	"github.com/aws/aws-sdk-go-v2/aws"
	ddbtypes "github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	streamtypes "github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"

	"ratchet/streams"
)

// FromSDK converts a record of the SDK.
func FromSDK(in *streamtypes.Record) streams.Record {
	out := streams.Record{EventName: streams.EventName(in.EventName), EventID: aws.ToString(in.EventID)}
	if in.UserIdentity != nil {
		out.Identity = streams.Identity{PrincipalID: aws.ToString(in.UserIdentity.PrincipalId), Type: aws.ToString(in.UserIdentity.Type)}
	}

	d := in.Dynamodb
	if d == nil {
		return out
	}

	out.SequenceNumber = aws.ToString(d.SequenceNumber)
	out.Keys, out.Old, out.New = convertImage(d.Keys), convertImage(d.OldImage), convertImage(d.NewImage)
	out.CreatedAt, out.SizeBytes = aws.ToTime(d.ApproximateCreationDateTime), aws.ToInt64(d.SizeBytes)

	return out
}

func convertImage(in map[string]streamtypes.AttributeValue) map[string]ddbtypes.AttributeValue {
	if in == nil {
		return nil
	}

	// Most values of an image are strings and numbers. They live as long as the image, so each kind
	// is allocated with one call.
	var c converter
	for _, v := range in {
		c.count(v)
	}
	c.s, c.n = make([]ddbtypes.AttributeValueMemberS, c.texts), make([]ddbtypes.AttributeValueMemberN, c.numbers)

	return c.convertMap(in)
}

// converter converts the values of one image. The SDK's packages for DynamoDB and for DynamoDB
// Streams have different Go types for the same values.
type converter struct {
	texts, numbers int // how many the image has, as count has found
	s              []ddbtypes.AttributeValueMemberS
	n              []ddbtypes.AttributeValueMemberN
}

// count counts the values that are allocated together.
func (c *converter) count(in streamtypes.AttributeValue) {
	switch v := in.(type) {
	case *streamtypes.AttributeValueMemberS:
		c.texts++
	case *streamtypes.AttributeValueMemberN:
		c.numbers++
	case *streamtypes.AttributeValueMemberM:
		for _, e := range v.Value {
			c.count(e)
		}
	case *streamtypes.AttributeValueMemberL:
		for _, e := range v.Value {
			c.count(e)
		}
	}
}

func (c *converter) convertMap(in map[string]streamtypes.AttributeValue) map[string]ddbtypes.AttributeValue {
	out := make(map[string]ddbtypes.AttributeValue, len(in))
	for k, v := range in {
		out[k] = c.convert(v)
	}

	return out
}

// convert converts a value. A type that is not known here becomes an UnknownUnionMember,
// never nil.
func (c *converter) convert(in streamtypes.AttributeValue) ddbtypes.AttributeValue {
	switch v := in.(type) {
	case *streamtypes.AttributeValueMemberS:
		// count has counted the values of the whole image, so c.s is never too short.
		out := &c.s[0]
		c.s, out.Value = c.s[1:], v.Value

		return out
	case *streamtypes.AttributeValueMemberN:
		out := &c.n[0]
		c.n, out.Value = c.n[1:], v.Value

		return out
	case *streamtypes.AttributeValueMemberBOOL:
		return &ddbtypes.AttributeValueMemberBOOL{Value: v.Value}
	case *streamtypes.AttributeValueMemberM:
		return &ddbtypes.AttributeValueMemberM{Value: c.convertMap(v.Value)}
	case *streamtypes.AttributeValueMemberL:
		l := make([]ddbtypes.AttributeValue, len(v.Value))
		for i, e := range v.Value {
			l[i] = c.convert(e)
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
