package tasktoken

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/sfn"
	sfntypes "github.com/aws/aws-sdk-go-v2/service/sfn/types"

	"ratchet/internal/dynamo"
)

// ErrEnded means that the task to park has been answered or has timed out. Another token
// may be parked in its place.
var ErrEnded = errors.New("the task has ended")

// parkTries bounds how often Park meets a token that another worker has parked in between.
const parkTries = 5

// Park stores the token of an activity's task until the order reaches the awaited state.
// The executions of the present state machine park their tokens themselves, see
// [WaitParameters]; Park serves those that were started before. TTL may delete the item
// after expires, which must be a time at which the task has certainly timed out.
//
// Park replaces another token only while its own task is alive, which it asks Step
// Functions after it has seen the other token: a live task is always the newest. A worker
// that was suspended for the length of a time-out gets ErrEnded.
func (s *Store) Park(ctx context.Context, task Task, expires time.Time) error {
	item := rowKey(task.OrderID, task.Awaited)
	item[attrToken] = dynamo.S(string(task.Token))
	item[attrSince] = dynamo.N(task.Since)
	item[ExpiryAttribute] = dynamo.Seconds(expires)

	if err := s.park(ctx, item, task.Token); err != nil {
		return fmt.Errorf("park the task of order %s awaiting %s: %w", task.OrderID, task.Awaited, err)
	}

	return nil
}

func (s *Store) park(ctx context.Context, item dynamo.Item, token Token) error {
	in := &dynamodb.PutItemInput{
		TableName:                           &s.table,
		Item:                                item,
		ConditionExpression:                 aws.String("attribute_not_exists(" + attrToken + ") OR " + attrToken + " = :seen"),
		ExpressionAttributeValues:           dynamo.Item{":seen": dynamo.S(string(token))},
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	}

	for range parkTries {
		_, err := s.db.PutItem(ctx, in)

		old, occupied := dynamo.FailedCondition(err)
		if !occupied {
			return err
		}

		if err := s.checkAlive(ctx, token); err != nil {
			return err
		}

		in.ExpressionAttributeValues = dynamo.Item{":seen": old[attrToken]}
	}

	return errors.New("other tasks were parked in its place")
}

// checkAlive returns ErrEnded if the task can no longer be answered.
func (s *Store) checkAlive(ctx context.Context, token Token) error {
	if s.sfn == nil {
		return errors.New("another task is parked, and without Config.SFN it is unknown which is newer")
	}

	_, err := s.sfn.SendTaskHeartbeat(ctx, &sfn.SendTaskHeartbeatInput{TaskToken: aws.String(string(token))})

	var (
		unknown *sfntypes.TaskDoesNotExist
		late    *sfntypes.TaskTimedOut
		invalid *sfntypes.InvalidToken
	)
	if errors.As(err, &unknown) || errors.As(err, &late) || errors.As(err, &invalid) {
		return fmt.Errorf("%w: %w", ErrEnded, err)
	}

	return err
}
