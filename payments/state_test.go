package payments_test

import (
	"context"
	"errors"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/payments"
	"ratchet/tests/shop"
)

// setState writes the state of a payment without the payments.
func (s *seller) setState(t *testing.T, id, state string) {
	t.Helper()

	_, err := s.direct.UpdateItem(t.Context(), &dynamodb.UpdateItemInput{
		TableName:                 aws.String(shop.PaymentTables().Payments),
		Key:                       map[string]types.AttributeValue{"paymentId": &types.AttributeValueMemberS{Value: id}},
		UpdateExpression:          aws.String("SET #state = :state"),
		ExpressionAttributeNames:  map[string]string{"#state": "state"},
		ExpressionAttributeValues: map[string]types.AttributeValue{":state": &types.AttributeValueMemberS{Value: state}},
	})
	if err != nil {
		t.Fatal(err)
	}
}

// A payment whose state does not allow the end of its step contradicts itself. The step stays
// pending and no account changes.
func TestAStateThatDoesNotAllowTheStepEndsNothing(t *testing.T) {
	capture := func(ctx context.Context, s *seller) error { _, err := s.Capture(ctx, "p", ask("c", 40)); return err }
	again := func(ctx context.Context, s *seller) error { _, err := s.Capture(ctx, "p", ask("c-2", 40)); return err }
	refund := func(ctx context.Context, s *seller) error { _, err := s.Refund(ctx, "p", ask("r", 40)); return err }
	authorize := func(ctx context.Context, s *seller) error { _, err := s.Authorize(ctx, of("p", 100)); return err }
	charge := func(ctx context.Context, s *seller) error { _, err := s.Charge(ctx, of("p", 100)); return err }
	void := func(ctx context.Context, s *seller) error { _, err := s.Void(ctx, "p"); return err }
	cancel := func(ctx context.Context, s *seller) error { _, err := s.Cancel(ctx, "p"); return err }
	accept := func(*seller) {}
	refuse := func(s *seller) { s.bank.answerCaptures(payments.ErrDeclined); s.bank.declineRefunds.Store(true) }

	decline := func(s *seller) { s.setBank(100, 0) }

	for name, c := range map[string]struct {
		before  func(*testing.T, *seller, string)
		step    func(context.Context, *seller) error
		answer  func(*seller)
		state   string
		pending bool // whether a call before leaves the step pending
	}{
		"authorization":           {nothing, authorize, accept, "CAPTURED", true},
		"declined authorization":  {nothing, authorize, decline, "CAPTURED", true},
		"charge":                  {nothing, charge, accept, "CAPTURED", true},
		"declined charge":         {nothing, charge, decline, "CAPTURED", true},
		"capture":                 {authorized, capture, accept, "REFUNDED", true},
		"declined capture":        {authorized, capture, refuse, "REFUNDED", true},
		"declined second capture": {capturedInPart, again, refuse, "REFUNDED", true},
		"refund":                  {charged, refund, accept, "FAILED", true},
		"declined refund":         {charged, refund, refuse, "FAILED", true},
		"void":                    {authorized, void, accept, "CAPTURED", true},
		"cancellation":            {authorized, cancel, accept, "FAILED", false},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSeller(t)
			c.before(t, s, "p")

			if c.pending {
				s.unanswered(t, func(ctx context.Context) error { return c.step(ctx, s) })
			}
			s.setState(t, "p", c.state)
			c.answer(s)

			before := s.summary(t)
			if err := c.step(t.Context(), s); !errors.Is(err, payments.ErrState) {
				t.Errorf("%v", err)
			}

			if after := s.summary(t); after != before {
				t.Errorf("%s after %s", after, before)
			}
		})
	}
}
