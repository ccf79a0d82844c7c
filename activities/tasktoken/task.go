package tasktoken

import (
	"fmt"

	"ratchet/internal/dynamo"
)

// Task is one parked task.
type Task struct {
	// OrderID names the order and its life: orderId.incarnation. A task that waits for an order does not
	// wait for another order that gets the id later.
	OrderID string
	// Awaited is the state that the task waits for.
	Awaited string
	// Since is the newest transition that the execution knew when it parked the task. The order may have
	// moved on already, if Moved had not recorded that yet.
	Since int64
	// Token is empty after [Store.Remove], and in lists.
	Token Token
	// Attempt names the attempt that parked the token.
	Attempt Attempt
	// Moved is the newest transition that [Store.Moved] recorded, MovedTo the state that
	// it led to. A task with a smaller Since has been answered or is about to be.
	Moved   int64
	MovedTo string
}

// waits reports whether the token of the row may still be answered.
func (t Task) waits() bool { return t.Token != "" && t.Moved <= t.Since }

// The attributes of a row.
const (
	attrOrder   = "orderId"
	attrToken   = "taskToken"
	attrAwaited = "awaited"
	attrSince   = "since"
	attrMoved   = "moved"
	attrMovedTo = "movedTo"
)

// ExpiryAttribute holds the epoch second after which TTL may delete a row.
const ExpiryAttribute = "expiresAt"

// rowKey returns the key of the row that the executions of an order share.
func rowKey(orderID string) dynamo.Item { return dynamo.Item{attrOrder: dynamo.S(orderID)} }

// rowKinds are the types of the attributes of a row.
var rowKinds = dynamo.Kinds{
	attrOrder: "S", attrToken: "S", attrAwaited: "S", attrMovedTo: "S", attrStarted: "S",
	attrSince: "N", attrMoved: "N", attrRedrives: "N", attrVisits: "N", attrRetries: "N",
}

// decode reads a row. It fails if an attribute is not of its type: a row that seems to have no token, or to have
// recorded no transition, would leave its task waiting.
func decode(item dynamo.Item) (Task, error) {
	if err := rowKinds.Check(item); err != nil {
		return Task{}, fmt.Errorf("the row cannot be read: %w", err)
	}

	return Task{
		OrderID: dynamo.Text(item, attrOrder),
		Awaited: dynamo.Text(item, attrAwaited),
		Since:   dynamo.Number(item, attrSince),
		Token:   Token(dynamo.Text(item, attrToken)),
		Attempt: decodeAttempt(item),
		Moved:   dynamo.Number(item, attrMoved),
		MovedTo: dynamo.Text(item, attrMovedTo),
	}, nil
}
