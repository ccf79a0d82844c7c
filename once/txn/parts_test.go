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
