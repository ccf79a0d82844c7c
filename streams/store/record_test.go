package store

import (
	"testing"
	"time"

	ddbtypes "github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"ratchet/internal/dynamo"
	"ratchet/streams"
)

func TestADeadLetterKeepsTheWholeRecord(t *testing.T) {
	all := dynamo.Item{
		"s": dynamo.S("a <b> & ü"), "n": &ddbtypes.AttributeValueMemberN{Value: "12345678901234567890.5"},
		"b":  &ddbtypes.AttributeValueMemberB{Value: []byte{0, 1, 255}},
		"t":  dynamo.Bool(true),
		"0":  &ddbtypes.AttributeValueMemberNULL{Value: true},
		"ss": &ddbtypes.AttributeValueMemberSS{Value: []string{"a", "b"}},
		"ns": &ddbtypes.AttributeValueMemberNS{Value: []string{"1", "2"}},
		"bs": &ddbtypes.AttributeValueMemberBS{Value: [][]byte{{1}, {2}}},
		"l":  &ddbtypes.AttributeValueMemberL{Value: []ddbtypes.AttributeValue{dynamo.S("x"), dynamo.N(1)}},
		"m":  &ddbtypes.AttributeValueMemberM{Value: dynamo.Item{"in": &ddbtypes.AttributeValueMemberM{Value: dynamo.Item{}}}},
	}
	want := streams.Record{
		StreamARN: "arn", ShardID: "s", SequenceNumber: "100", EventID: "e", EventName: streams.Modify,
		Keys: dynamo.Item{"s": dynamo.S("k")}, Old: all, New: dynamo.Item{}, CreatedAt: time.Unix(1_700_000_000, 0).UTC(), SizeBytes: 7,
		Identity: streams.Identity{PrincipalID: "p", Type: "Service"}, Owner: "w", Epoch: 3, Handler: "h", Attempt: 5,
	}

	body, err := EncodeRecord(want)
	if err != nil {
		t.Fatal(err)
	}

	got, err := DecodeRecord(body)
	if err != nil {
		t.Fatal(err)
	}

	if diff := cmp.Diff(want, got, cmpopts.IgnoreUnexported(streams.Record{},
		ddbtypes.AttributeValueMemberS{}, ddbtypes.AttributeValueMemberN{}, ddbtypes.AttributeValueMemberB{},
		ddbtypes.AttributeValueMemberBOOL{}, ddbtypes.AttributeValueMemberNULL{}, ddbtypes.AttributeValueMemberSS{},
		ddbtypes.AttributeValueMemberNS{}, ddbtypes.AttributeValueMemberBS{}, ddbtypes.AttributeValueMemberL{},
		ddbtypes.AttributeValueMemberM{}), cmpopts.EquateEmpty()); diff != "" {
		t.Fatal(diff)
	}
}

func FuzzDecodeRecord(f *testing.F) {
	f.Add([]byte(`{"newImage":{"a":{"L":[{"S":"x"},{"M":{}}]}}}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		r, err := DecodeRecord(body)
		if err != nil {
			return
		}

		if _, err := EncodeRecord(r); err != nil {
			t.Fatalf("decoded but cannot be encoded: %v", err)
		}
	})
}
