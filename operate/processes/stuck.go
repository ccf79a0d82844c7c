package processes

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ratchet/internal/dynamo"
)

// MostStuck is how many rows of one kind a survey may store for one owner.
const MostStuck = 1000

// StuckOrder is an order that a survey has found to need a person. It may have moved since: the row is a hint
// where to look, and expires.
type StuckOrder struct {
	// OrderID names the order, or the execution that was to place it.
	OrderID string `json:"orderId"`
	Kind    string `json:"kind"`
	State   string `json:"state,omitempty"`
	// Since is when it got stuck, Cause why, and Commands make it move again, the first one first.
	Since    time.Time `json:"since,omitzero"`
	Cause    string    `json:"cause"`
	Commands []string  `json:"commands"`
	// FoundAt is when the survey that has found it began, ExpiresAt the end of the row.
	FoundAt   time.Time `json:"foundAt"`
	ExpiresAt time.Time `json:"-"`
}

// maxCause bounds the cause of a row, so that most rows cost one write unit.
const maxCause = 400

// Owner returns whose the order is: the text before the colon of its id, "" without one.
func (o StuckOrder) Owner() string {
	owner, _, owned := strings.Cut(o.OrderID, ":")
	if !owned {
		return ""
	}

	return owner
}

// The rows of stuck orders, beside those of processes: kind "stuck#<owner>", id "<order>#<kind>".
const stuckKind = "stuck#"

// StoreStuck stores a stuck order, unless a survey that began later has stored it.
func (s *Store) StoreStuck(ctx context.Context, o StuckOrder) error {
	o.Cause = cut(o.Cause, maxCause)

	body, err := json.Marshal(o)
	if err != nil {
		return fmt.Errorf("processes: stuck order %s: %w", o.OrderID, err)
	}

	update := dynamo.NewUpdate(s.cfg.Table, dynamo.Item{kindKey: dynamo.S(stuckKind + o.Owner()), idKey: dynamo.S(o.OrderID + "#" + o.Kind)}).
		If("attribute_not_exists(#started) OR #started <= :started").
		Bind(":started", dynamo.Millis(o.FoundAt)).
		Alias("#started", startedAttribute).
		Set("#started = :started").
		SetValue(bodyAttribute, dynamo.S(string(body))).
		SetValue(ExpiryAttribute, dynamo.Seconds(o.ExpiresAt))

	_, err = s.cfg.DynamoDB.UpdateItem(ctx, update.Input())
	if _, newer := dynamo.FailedCondition(err); newer {
		return nil
	}

	if err != nil {
		return fmt.Errorf("processes: store stuck order %s: %w", o.OrderID, err)
	}

	return nil
}

// Stuck returns up to limit stuck orders of an owner by their ids, after the next of the page before. It leaves out
// rows that have expired, and those of surveys that began before since: the orders were not found again.
func (s *Store) Stuck(ctx context.Context, owner string, since time.Time, after string, limit int) (found []StuckOrder, next string, err error) {
	in := s.stuckQuery(owner)
	if after != "" {
		in.ExclusiveStartKey = dynamo.Item{kindKey: dynamo.S(stuckKind + owner), idKey: dynamo.S(after)}
	}

	for now := time.Now(); len(found) < limit; {
		in.Limit = aws.Int32(int32(limit - len(found)))

		out, err := s.cfg.DynamoDB.Query(ctx, in)
		if err != nil {
			return nil, "", fmt.Errorf("processes: read the stuck orders: %w", err)
		}

		for _, row := range out.Items {
			var o StuckOrder
			if dynamo.HasExpired(row, ExpiryAttribute, now) || dynamo.Number(row, startedAttribute) < since.UnixMilli() ||
				json.Unmarshal([]byte(dynamo.Text(row, bodyAttribute)), &o) != nil {
				continue
			}
			found = append(found, o)
		}

		if in.ExclusiveStartKey = out.LastEvaluatedKey; len(in.ExclusiveStartKey) == 0 {
			return found, "", nil
		}
		next = dynamo.Text(out.LastEvaluatedKey, idKey)
	}

	return found, next, nil
}

// ForgetStuck removes what the rows of an order say, and makes them expire. A survey that runs may store it again.
func (s *Store) ForgetStuck(ctx context.Context, order string) error {
	in := s.stuckQuery(StuckOrder{OrderID: order}.Owner())
	in.KeyConditionExpression = aws.String("#kind = :kind AND begins_with(#id, :order)")
	in.ExpressionAttributeNames["#id"], in.ExpressionAttributeValues[":order"] = idKey, dynamo.S(order+"#")

	out, err := s.cfg.DynamoDB.Query(ctx, in) // one row for each kind, so one page
	if err != nil {
		return fmt.Errorf("processes: forget stuck order %s: %w", order, err)
	}

	for _, row := range out.Items {
		update := dynamo.NewUpdate(s.cfg.Table, dynamo.Item{kindKey: row[kindKey], idKey: row[idKey]}).
			IfPresent(idKey).
			RemoveAttribute(bodyAttribute).
			SetValue(ExpiryAttribute, dynamo.N(1))

		_, err := s.cfg.DynamoDB.UpdateItem(ctx, update.Input())
		if _, gone := dynamo.FailedCondition(err); err != nil && !gone {
			return fmt.Errorf("processes: forget stuck order %s: %w", order, err)
		}
	}

	return nil
}

func (s *Store) stuckQuery(owner string) *dynamodb.QueryInput {
	return &dynamodb.QueryInput{
		TableName:                 &s.cfg.Table,
		ConsistentRead:            aws.Bool(true),
		KeyConditionExpression:    aws.String("#kind = :kind"),
		ExpressionAttributeNames:  map[string]string{"#kind": kindKey},
		ExpressionAttributeValues: dynamo.Item{":kind": dynamo.S(stuckKind + owner)},
	}
}
