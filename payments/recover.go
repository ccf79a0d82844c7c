package payments

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ratchet/internal/attribute"
)

// Recovered is what one call of Recover has done.
type Recovered struct {
	// Finished counts the steps that were ended, whatever the processor said; Expired
	// the authorizations that were given up.
	Finished int `json:"finished"`
	Expired  int `json:"expired"`
	// Left are the payments that it could not help, and why.
	Left []Left `json:"left,omitempty"`
	// Next is where to go on; empty at the end.
	Next string `json:"next,omitempty"`
}

// Left is a payment whose step is still under way.
type Left struct {
	PaymentID string `json:"paymentId"`
	Reason    string `json:"reason"`
}

// Recover ends the steps that a worker has left in the middle and gives up what has
// expired. It looks at up to limit records (1 to 1,000) after the one named. Any number
// of sweeps may run at once, and beside the payments' own workers.
func (s *Payments) Recover(ctx context.Context, after string, limit int) (r Recovered, err error) {
	if limit < 1 || limit > 1000 {
		return r, fmt.Errorf("recover payments: %w: limit %d: 1 to 1000", ErrInvalid, limit)
	}
	now := s.cfg.Now()
	in := &dynamodb.ScanInput{TableName: &s.cfg.Table, ConsistentRead: aws.Bool(true), Limit: aws.Int32(int32(limit)),
		FilterExpression:          aws.String("(attribute_exists(pending) AND updatedAt <= :left) OR (attribute_not_exists(pending) AND expiresAt <= :now AND capturable > :zero)"),
		ExpressionAttributeValues: attribute.Item{":left": milliseconds(now.Add(-s.cfg.Patience)), ":now": milliseconds(now), ":zero": attribute.N(0)}}
	if after != "" {
		in.ExclusiveStartKey = paymentKey(after)
	}
	out, err := s.cfg.DynamoDB.Scan(ctx, in)
	if err != nil {
		return r, fmt.Errorf("recover payments: %w", err)
	}
	for _, item := range out.Items {
		if err := s.recover(ctx, *paymentOf(item), now, &r); err != nil {
			if ctx.Err() != nil {
				return r, err
			}
			r.Left = append(r.Left, Left{attribute.Text(item, "paymentId"), err.Error()})
		}
	}
	r.Next = attribute.Text(out.LastEvaluatedKey, "paymentId")
	return r, nil
}

func (s *Payments) recover(ctx context.Context, p Payment, now time.Time, r *Recovered) error {
	if p.Pending == nil {
		return s.expire(ctx, p, now, r)
	}
	_, err := s.finish(ctx, p, p.Pending.ID)
	if err == nil || ended(err) {
		r.Finished++
		return nil
	}
	return err
}

// ended reports that the step came to an end, if not to the wished one.
func ended(err error) bool {
	return errors.Is(err, ErrDeclined) || errors.Is(err, ErrVoided)
}

// expire gives up what was authorized and not captured in time.
func (s *Payments) expire(ctx context.Context, p Payment, now time.Time, r *Recovered) error {
	if p.Pending != nil || p.Capturable == 0 || p.ExpiresAt.IsZero() || now.Before(p.ExpiresAt) {
		return nil
	}
	if _, err := s.begin(ctx, p.ID, Ask{ID: string(Expiring)}, Expiring); err != nil {
		return err
	}
	r.Expired++
	return nil
}
