package lineage

import (
	"reflect"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	ddbtypes "github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	streamtypes "github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"

	"ratchet/internal/dynamo"
	"ratchet/streams"
)

func TestRemovalsByTimeToLiveAreRecognized(t *testing.T) {
	ttl := FromSDK(&streamtypes.Record{EventName: streamtypes.OperationTypeRemove, UserIdentity: &streamtypes.Identity{
		Type: aws.String("Service"), PrincipalId: aws.String("dynamodb.amazonaws.com"),
	}, Dynamodb: &streamtypes.StreamRecord{OldImage: map[string]streamtypes.AttributeValue{"a": &streamtypes.AttributeValueMemberNULL{Value: true}}}})
	if !ttl.ExpiredByTTL() || len(ttl.Item()) != 1 {
		t.Errorf("record %+v", ttl)
	}

	if user := FromSDK(&streamtypes.Record{EventName: streamtypes.OperationTypeRemove}); user.ExpiredByTTL() {
		t.Error("a caller's removal was taken for time to live")
	}
}

func TestEveryTypeOfValueIsConvertedFromTheSDKsRecord(t *testing.T) {
	nested := map[string]streamtypes.AttributeValue{
		"s":    &streamtypes.AttributeValueMemberS{Value: "text"},
		"n":    &streamtypes.AttributeValueMemberN{Value: "1.50"},
		"b":    &streamtypes.AttributeValueMemberB{Value: []byte{0, 255}},
		"bool": &streamtypes.AttributeValueMemberBOOL{Value: true},
		"null": &streamtypes.AttributeValueMemberNULL{Value: true},
		"ss":   &streamtypes.AttributeValueMemberSS{Value: []string{"a"}},
		"ns":   &streamtypes.AttributeValueMemberNS{Value: []string{"1"}},
		"bs":   &streamtypes.AttributeValueMemberBS{Value: [][]byte{{1}}},
		"m":    &streamtypes.AttributeValueMemberM{},
		"new":  &streamtypes.UnknownUnionMember{Tag: "X", Value: []byte("x")},
		"nil":  nil,
	}
	created := time.Unix(1_700_000_000, 0)

	got := FromSDK(&streamtypes.Record{
		EventID:   aws.String("e"),
		EventName: streamtypes.OperationTypeInsert,
		Dynamodb: &streamtypes.StreamRecord{
			ApproximateCreationDateTime: &created,
			SequenceNumber:              aws.String("7"),
			SizeBytes:                   aws.Int64(12),
			NewImage: map[string]streamtypes.AttributeValue{
				"list": &streamtypes.AttributeValueMemberL{Value: []streamtypes.AttributeValue{
					&streamtypes.AttributeValueMemberM{Value: nested},
				}},
			},
		},
	})

	want := streams.Record{
		EventID:        "e",
		EventName:      streams.Insert,
		SequenceNumber: "7",
		SizeBytes:      12,
		CreatedAt:      created,
		New: dynamo.Item{"list": &ddbtypes.AttributeValueMemberL{Value: []ddbtypes.AttributeValue{dynamo.M(dynamo.Item{
			"s":    dynamo.S("text"),
			"n":    &ddbtypes.AttributeValueMemberN{Value: "1.50"},
			"b":    dynamo.B([]byte{0, 255}),
			"bool": dynamo.Bool(true),
			"null": &ddbtypes.AttributeValueMemberNULL{Value: true},
			"ss":   dynamo.SS("a"),
			"ns":   &ddbtypes.AttributeValueMemberNS{Value: []string{"1"}},
			"bs":   &ddbtypes.AttributeValueMemberBS{Value: [][]byte{{1}}},
			"m":    dynamo.M(dynamo.Item{}),
			"new":  &ddbtypes.UnknownUnionMember{Tag: "X", Value: []byte("x")},
			"nil":  &ddbtypes.UnknownUnionMember{Tag: "unknown"},
		})}}},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v\nwant %+v", got, want)
	}

	if got := FromSDK(&streamtypes.Record{EventName: streamtypes.OperationTypeModify}); got.New != nil || got.EventName != streams.Modify {
		t.Errorf("a record without data became %+v", got)
	}
}
