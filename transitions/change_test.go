package transitions_test

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/transitions"
)

// Records of the stream that are no transition are told apart by their two images.
func TestARecordIsATransitionARemovalOrNeither(t *testing.T) {
	s := newOrders(t)
	s.place(t, "o-1")
	order := s.Item(t, "o-1")
	broken := map[string]types.AttributeValue{"orderId": text("o-1"), "transitionId": text("x")}

	for name, row := range map[string]struct {
		old, now       map[string]types.AttributeValue
		grew, removed  bool
		broken, cannot bool // as a transition, and as a removal
	}{
		"an order is placed":          {now: order, grew: true},
		"the same image again":        {old: order, now: order},
		"an order is removed":         {old: order, removed: true},
		"nothing":                     {},
		"a broken image":              {now: broken, broken: true},
		"a broken image before":       {old: broken, now: order, broken: true},
		"a broken image that is gone": {old: broken, cannot: true},
	} {
		change, grew, err := transitions.Mapping{}.FromRecord(row.old, row.now)
		if grew != row.grew || (err != nil) != row.broken || grew && change.New.ID != "o-1" {
			t.Errorf("%s, as a transition: %v, %v", name, grew, err)
		}

		gone, removed, err := transitions.Mapping{}.Removed(row.old, row.now)
		if removed != row.removed || (err != nil) != row.cannot || removed && gone.ID != "o-1" {
			t.Errorf("%s, as a removal: %v, %v", name, removed, err)
		}
	}
}
