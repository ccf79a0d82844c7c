package txn

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go/middleware"
	smithyhttp "github.com/aws/smithy-go/transport/http"
)

// The sizes come from the developer guide, with an upper estimate for numbers.
func TestSizesAreThoseThatDynamoDBCounts(t *testing.T) {
	text := func(n int) types.AttributeValue { return &types.AttributeValueMemberS{Value: strings.Repeat("x", n)} }
	number := func(n int) types.AttributeValue { return &types.AttributeValueMemberN{Value: strings.Repeat("1", n)} }

	for _, row := range []struct {
		name  string
		value types.AttributeValue
		want  int
	}{
		{"a text", text(7), 7},
		{"bytes", &types.AttributeValueMemberB{Value: make([]byte, 9)}, 9},
		{"a number of 1 digit", number(1), 2},
		{"a number of 4 digits", number(4), 4},
		{"a number of 38 digits", number(38), 21},
		{"a number with exponent and sign", number(44), 21},
		{"texts", &types.AttributeValueMemberSS{Value: []string{"ab", "cde"}}, 5},
		{"sets of bytes", &types.AttributeValueMemberBS{Value: [][]byte{{1}, {2, 3}}}, 3},
		{"numbers", &types.AttributeValueMemberNS{Value: []string{"1", "1111"}}, 6},
		{"a truth value", &types.AttributeValueMemberBOOL{}, 1},
		{"a list", &types.AttributeValueMemberL{Value: []types.AttributeValue{text(10), text(20)}}, 3 + 11 + 21},
		{"a map", &types.AttributeValueMemberM{Value: map[string]types.AttributeValue{"ab": text(10), "cde": text(20)}}, 3 + 2*1 + 12 + 23},
	} {
		if got := size(map[string]types.AttributeValue{"name": row.value}); got != 4+row.want {
			t.Errorf("%s: %d, want %d", row.name, got-4, row.want)
		}
	}
}

func TestAnUpdateIsItsKeyAndItsValues(t *testing.T) {
	p := part{item: types.TransactWriteItem{Update: &types.Update{
		TableName:                 new(string),
		Key:                       map[string]types.AttributeValue{"id": &types.AttributeValueMemberS{Value: "12345"}},
		ExpressionAttributeValues: map[string]types.AttributeValue{":v": &types.AttributeValueMemberS{Value: "123"}},
	}}}
	*p.item.Update.TableName = "t"

	if a, err := p.action(); err != nil || a.size != 12 {
		t.Errorf("%+v, %v, want 12 bytes", a, err)
	}
}

// An endpoint may send an empty item for none.
func TestAnEmptyItemIsNone(t *testing.T) {
	f := part{name: "p", onFailure: func(old map[string]types.AttributeValue) error {
		if old != nil {
			t.Errorf("the refusal got %v", old)
		}

		return nil
	}}.failure(map[string]types.AttributeValue{})

	if f.Old != nil || f.Part != "p" || !errors.Is(f.Err, ErrCondition) {
		t.Errorf("%+v", f)
	}
}

// sorted is the body as the middleware sends it.
func sorted(request any) (string, error) {
	var body string
	_, _, err := sortBody(context.Background(), middleware.BuildInput{Request: request}, middleware.BuildHandlerFunc(
		func(_ context.Context, in middleware.BuildInput) (out middleware.BuildOutput, m middleware.Metadata, err error) {
			text, err := io.ReadAll(in.Request.(*smithyhttp.Request).GetStream())
			body = string(text)

			return out, m, err
		}))

	return body, err
}

func TestABodyIsSortedAndOtherwiseUnchanged(t *testing.T) {
	request := func(body string) *smithyhttp.Request {
		r, err := smithyhttp.NewStackRequest().(*smithyhttp.Request).SetStream(bytes.NewReader([]byte(body)))
		if err != nil {
			t.Fatal(err)
		}

		return r
	}

	if got, err := sorted(request(`{"b":12345678901234567890,"a":{"z":"<&>","y":[2,1]}}`)); err != nil || got != `{"a":{"y":[2,1],"z":"<&>"},"b":12345678901234567890}` {
		t.Errorf("%s, %v", got, err)
	}

	if _, err := sorted(request(`{"b":`)); err == nil || !strings.Contains(err.Error(), "canonical body: unexpected EOF") {
		t.Errorf("a body that was cut off: %v", err)
	}

	if _, err := sorted(7); err == nil || !strings.Contains(err.Error(), "the request is a int") {
		t.Errorf("no request: %v", err)
	}
}
