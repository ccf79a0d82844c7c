package transitions_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"

	"ratchet/transitions"
	"ratchet/workflow"
)

// recent reads the raw ring. It replaces a call id by "CALL" and a digest by its length.
func (s *orders) recent(t testing.TB, id transitions.OrderID) map[string]any {
	t.Helper()

	call := regexp.MustCompile(`^(\d+ \S+ \S+ \w+) [A-Za-z0-9_-]{6}`)
	out := map[string]any{}
	for name, v := range s.Item(t, id)["recent"].(*types.AttributeValueMemberM).Value {
		switch v := v.(type) {
		case *types.AttributeValueMemberS:
			out[name] = call.ReplaceAllString(v.Value, "$1 CALL")
		case *types.AttributeValueMemberB:
			out[name] = len(v.Value)
		}
	}

	return out
}

// TestTheFormatOfTheRing holds the data format, because stored orders outlive a version of
// this package.
func TestTheFormatOfTheRing(t *testing.T) {
	inBothModes(t, func(t *testing.T, newOrders maker) {
		s := newOrders(t)
		s.reconfigure(func(c *transitions.Config) {
			c.Journal, c.Now = s.mode, func() time.Time { return time.UnixMilli(1763721672123) }
		})
		s.place(t, "o-1")
		s.want(t, given("o-1", workflow.Hold, 2), transitions.Applied)
		narrowed := given("o-1", workflow.Release, 3)
		narrowed.From, narrowed.RequestID = workflow.OnHold, "r-1"
		s.want(t, narrowed, transitions.Applied)
		s.want(t, keyed("o-1", workflow.Pay, "r-2"), transitions.Applied)

		want := map[string]any{
			"s1": "1 place PENDING mi8qcfy3 CALL",
			"s2": "2 hold ON_HOLD mi8qcfy3 CALL", "f2": "PENDING",
			"s3": "3 release PENDING mi8qcfy3 CALL f", "f3": "ON_HOLD", "r3": 16,
			"s4": "4 pay PAYMENT_RECEIVED mi8qcfy3 CALL a", "f4": "PENDING", "r4": 16,
		}
		if diff := cmp.Diff(want, s.recent(t, "o-1")); diff != "" {
			t.Errorf("the ring (-want +got):\n%s", diff)
		}
		s.want(t, given("o-1", workflow.Ship, 11), transitions.Applied) // slot 3 again, without a request id
		want["s3"], want["f3"] = "11 ship SHIPPED mi8qcfy3 CALL", "PAYMENT_RECEIVED"
		delete(want, "r3")

		if diff := cmp.Diff(want, s.recent(t, "o-1")); diff != "" {
			t.Errorf("an overwritten slot must keep nothing of the old one (-want +got):\n%s", diff)
		}
	})
}

// imageWithSlot returns the item of an order whose ring has this slot s3.
func imageWithSlot(slot string) map[string]types.AttributeValue {
	text := func(v string) types.AttributeValue { return &types.AttributeValueMemberS{Value: v} }

	return map[string]types.AttributeValue{
		"orderId": text("o-1"), "orderState": text("SHIPPED"), "transitionId": &types.AttributeValueMemberN{Value: "3"},
		"recent": &types.AttributeValueMemberM{Value: map[string]types.AttributeValue{"s3": text(slot), "f3": text("PROCESSING")}},
	}
}

// A slot that cannot be read counts as forgotten: the change is read without it.
func TestASlotThatCannotBeReadIsLeftOut(t *testing.T) {
	for _, slot := range []string{"", " ", "3", "3 ship SHIPPED mi8qcfy3", "x ship SHIPPED mi8qcfy3 call", "0 ship SHIPPED 1 call",
		"-3 ship SHIPPED 1 call", "3 ship SHIPPED n.w call", "3  SHIPPED 1 call", "3 ship SHIPPED 1 call f f", "3 ship SHIPPED 1 call ", "99999999999999999999 ship SHIPPED 1 call"} {
		c, grew, err := transitions.Mapping{}.FromRecord(nil, imageWithSlot(slot))
		if err != nil || !grew || c.Transition.ID != 3 || c.Transition.Event != "" || !slices.Equal(c.New.Unreadable, []string{"recent"}) {
			t.Errorf("slot %q was read as %+v, %v", slot, c.Transition, err)
		}
	}
}

// Members of the ring that this package does not write are left alone.
func TestOtherMembersOfTheRingAreIgnored(t *testing.T) {
	image := imageWithSlot("3 ship SHIPPED mi8qcfy3 call")
	recent := image["recent"].(*types.AttributeValueMemberM).Value

	for _, name := range []string{"s8", "f8", "r8", "s:", "s/", "f/", "r/", "s", "s33", "t3", ""} {
		recent[name] = &types.AttributeValueMemberBOOL{Value: true}
	}

	c, grew, err := transitions.Mapping{}.FromRecord(nil, image)
	if err != nil || !grew || c.Transition.ID != 3 || c.Transition.From != "PROCESSING" || len(c.New.Recent()) != 1 {
		t.Errorf("%+v, %v", c.Transition, err)
	}
}

// A member of another type than this package writes is left out, and reported.
func TestMembersOfTheRingHaveTheirTypes(t *testing.T) {
	for _, name := range []string{"s0", "s3", "f3", "r3", "s7", "f7"} {
		image := imageWithSlot("3 ship SHIPPED mi8qcfy3 call")
		image["recent"].(*types.AttributeValueMemberM).Value[name] = &types.AttributeValueMemberBOOL{Value: true}

		if c, grew, err := (transitions.Mapping{}).FromRecord(nil, image); err != nil || !grew || !slices.Equal(c.New.Unreadable, []string{"recent"}) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func FuzzRingSlot(f *testing.F) {
	f.Add("3 ship SHIPPED mi8qcfy3 kJ3aB3dEf9xQ")
	f.Add("3 ship SHIPPED mi8qcfy3 kJ3aB3dEf9xQ af")
	f.Add("3 ship  mi8qcfy3 ")
	f.Fuzz(func(t *testing.T, slot string) {
		c, grew, err := transitions.Mapping{}.FromRecord(nil, imageWithSlot(slot))
		if err != nil || !grew {
			return
		}

		if t3 := c.Transition; t3.Event != "" && !strings.Contains(slot, " "+string(t3.Event)+" "+string(t3.To)+" ") {
			t.Errorf("slot %q was read as %+v", slot, t3)
		}
	})
}
