package notify_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ratchet/internal/dynamo"
	"ratchet/notify"
)

// TestATenantHasAShareOfTheEndpoints: what one tenant has used up is there for the others, an id that is used again
// counts once, and creating reads no other endpoint.
func TestATenantHasAShareOfTheEndpoints(t *testing.T) {
	h := newDeliveryHarness(t)
	create := func(id string) error {
		_, err := h.endpoints.Create(t.Context(), id, notify.Settings{Destination: "shop"}, nil)
		return err
	}

	h.transport.Reset()

	for i := range 100 {
		if err := create(fmt.Sprintf("big:%d", i)); err != nil {
			t.Fatal(err)
		}
	}

	if err := create("big:more"); !errors.Is(err, notify.ErrShare) || !strings.Contains(err.Error(), "100 of the installation's 1000") {
		t.Errorf("beyond the share: %v", err)
	}

	for _, id := range []string{"small:1", "operator"} {
		if err := create(id); err != nil {
			t.Errorf("beside a tenant that has used up its share: %v", err)
		}
	}

	if err := h.endpoints.Remove(t.Context(), "big:7"); err != nil {
		t.Fatal(err)
	}

	if err := create("big:more"); !errors.Is(err, notify.ErrShare) {
		t.Errorf("a removed endpoint does not count: %v", err)
	}

	if err := create("big:7"); err != nil {
		t.Errorf("the id of a removed endpoint: %v", err)
	}

	if n := h.transport.Count("Scan"); n > 0 {
		t.Errorf("creating scanned the table %d times", n)
	}
}

// TestAnUnreadableEndpointTakesNothingFromOthers: it is listed with the reason, the others get what is theirs, and it
// can be removed and created again.
func TestAnUnreadableEndpointTakesNothingFromOthers(t *testing.T) {
	h := newDeliveryHarness(t)
	h.endpoint("shop")
	h.endpoint("broken")

	_, err := h.db.UpdateItem(t.Context(), &dynamodb.UpdateItemInput{
		TableName: aws.String("endpoints"), Key: dynamo.Item{"endpointId": dynamo.S("broken")},
		UpdateExpression: aws.String("SET settings = :s"), ExpressionAttributeValues: dynamo.Item{":s": dynamo.S("{")},
	})
	if err != nil {
		t.Fatal(err)
	}

	all, err := h.endpoints.List(t.Context())
	if err != nil || len(all) != 2 || all[0].Status != notify.Unreadable || !strings.Contains(all[0].Reason, "not JSON") || all[1].Status != notify.Active {
		t.Errorf("%+v, %v", all, err)
	}

	d := h.worker()
	h.accept(d, notice("o-1", 2, "SHIPPED"))

	if got := h.statuses(d); got["shop PENDING"] != 1 || len(got) != 1 {
		t.Errorf("%v", got)
	}

	if err := h.endpoints.Remove(t.Context(), "broken"); err != nil {
		t.Fatal(err)
	}

	if _, err := h.endpoints.Create(t.Context(), "broken", notify.Settings{Destination: "shop"}, nil); err != nil {
		t.Error(err)
	}
}
