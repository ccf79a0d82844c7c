package dynamo_test

import (
	"context"
	"errors"
	"io"
	"testing"
	"testing/synctest"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"

	"ratchet/internal/dynamo"
)

func TestAnUnansweredAttemptIsNotForgotten(t *testing.T) {
	denied := &smithy.GenericAPIError{Code: "AccessDeniedException"}
	throttled := &types.ProvisionedThroughputExceededException{}
	refusal := &types.ConditionalCheckFailedException{Item: dynamo.Item{"id": dynamo.S("a")}}

	for about, test := range map[string]struct {
		answers []error // the last one is repeated
		sent    int
		err     error // nil: DynamoDB has decided
		unknown bool
	}{
		"the first attempt is made":             {answers: []error{nil}, sent: 1},
		"a refusal at once":                     {answers: []error{denied}, sent: 1, err: denied},
		"throttled until the bound":             {answers: []error{throttled}, sent: 4, err: throttled},
		"throttled, then made":                  {answers: []error{throttled, nil}, sent: 2},
		"no answer, then denied until it ends":  {answers: []error{io.ErrUnexpectedEOF, denied}, sent: 4, err: denied, unknown: true},
		"no answer, then throttled":             {answers: []error{io.ErrUnexpectedEOF, throttled}, sent: 4, err: throttled, unknown: true},
		"no answer, then a failed condition":    {answers: []error{io.ErrUnexpectedEOF, denied, refusal}, sent: 3},
		"throttled, no answer, then it is made": {answers: []error{throttled, io.ErrUnexpectedEOF, nil}, sent: 3},
	} {
		synctest.Test(t, func(t *testing.T) {
			sent := 0
			old, refused, err := dynamo.UntilDecided(t.Context(), 4, func() error {
				sent++
				return test.answers[min(sent, len(test.answers))-1]
			})

			if sent != test.sent || !errors.Is(err, test.err) || errors.Is(err, dynamo.ErrUnanswered) != test.unknown {
				t.Errorf("%s: sent %d times, %v", about, sent, err)
			}

			if want := errors.Is(test.answers[len(test.answers)-1], refusal); refused != want || (old != nil) != want {
				t.Errorf("%s: refused %t, %v", about, refused, old)
			}
		})
	}
}

func TestAttemptsEndWithTheContext(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	cause := errors.New("the caller has gone")

	_, _, err := dynamo.UntilDecided(ctx, 4, func() error {
		cancel(cause)
		return context.Canceled
	})
	if !errors.Is(err, dynamo.ErrUnanswered) || !errors.Is(err, cause) {
		t.Errorf("%v", err)
	}
}
