package server_test

import (
	"encoding/json"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/server"
	"ratchet/server/ratchettest"
	"ratchet/transitions"
	"ratchet/workflow"
)

// An execution places an order with own attributes, and a message of the queue changes them.
func TestOwnAttributesPassThroughExecutionsAndTheQueue(t *testing.T) {
	env := ratchettest.Start(t, ratchettest.Config{Server: server.Config{RequestsQueue: "requests"}})
	env.SetStock("mug", 1)

	order := ratchettest.NewOrder("o-1", "mug")
	order.Own = transitions.Attributes{
		"shelf": &types.AttributeValueMemberS{Value: "B7"},
		"sizes": &types.AttributeValueMemberNS{Value: []string{"2.5"}},
		"none":  &types.AttributeValueMemberB{Value: []byte{}},
	}
	env.Execute(order)
	env.WantOrder("o-1", workflow.Delivered, 4)

	request := transitions.Request{OrderID: "o-1", Event: workflow.Close, RequestID: "close", Own: transitions.OwnChange{
		Set:    transitions.Attributes{"closed": &types.AttributeValueMemberBOOL{Value: true}},
		Remove: []string{"none"},
		If:     transitions.OwnGuards{Equals: transitions.Attributes{"shelf": order.Own["shelf"]}, Exists: []string{"none"}, Missing: []string{"closed"}},
	}}
	if _, err := env.Backend.Request(t.Context(), request); err != nil {
		t.Fatal(err)
	}
	env.WantOrder("o-1", workflow.Completed, 5)
	env.Apply(request, transitions.Replayed)

	now, _, err := env.Backend.Orders.Get(t.Context(), "o-1")
	if err != nil {
		t.Fatal(err)
	}

	if shown, err := json.Marshal(now.Own); err != nil || string(shown) != `{"closed":{"BOOL":true},"shelf":{"S":"B7"},"sizes":{"NS":["2.5"]}}` {
		t.Errorf("%s, %v", shown, err)
	}
}
