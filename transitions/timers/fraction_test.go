package timers_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/transitions"
)

// TestAFractionOfASecondIsPartOfTheCondition: another program moves the time of an order, without a transition, between the
// read of the order and the write.
func TestAFractionOfASecondIsPartOfTheCondition(t *testing.T) {
	fraction := func(at time.Time) *types.AttributeValueMemberN {
		return &types.AttributeValueMemberN{Value: fmt.Sprintf("%d.%06d", at.Unix(), at.Nanosecond()/1000)}
	}

	for name, moved := range map[string]func(due time.Time) types.AttributeValue{
		"":                 nil,
		"by a day":         func(due time.Time) types.AttributeValue { return fraction(due.Add(day)) },
		"by half a second": func(due time.Time) types.AttributeValue { return fraction(due.Add(time.Second / 2)) },
		"by a microsecond": func(due time.Time) types.AttributeValue { return fraction(due.Add(time.Microsecond)) },
		"to a text": func(due time.Time) types.AttributeValue {
			return &types.AttributeValueMemberS{Value: due.Format(time.RFC3339Nano)}
		},
		"into its millisecond": func(due time.Time) types.AttributeValue {
			return &types.AttributeValueMemberN{Value: fmt.Sprint(due.UnixMilli())}
		},
	} {
		w := newWorld(t)
		w.place("o-1")
		w.clock.Advance(time.Minute)

		due := w.clock.Now().Add(250 * time.Millisecond)
		w.set("o-1", "remindAt", fraction(due))
		w.clock.Advance(3 * time.Second)

		order := w.order("o-1")
		timer := w.orders.Timers(order)[0]
		if moved != nil {
			w.set("o-1", "remindAt", moved(due))
		}

		r, err := w.orders.ApplyTimer(t.Context(), order, timer)
		if err != nil || timer.Event != "remind" || !timer.At.Equal(due) {
			t.Errorf("moved %s: %s at %s, due at %s, %v", name, timer.Event, timer.At, due, err)
		}

		// A time that was written in another way is the same moment, for which the order is judged again.
		same := name == "" || name == "by a microsecond" || name == "to a text" || name == "into its millisecond"
		if (r.Verdict == transitions.Applied) != same {
			t.Errorf("moved %s: %s", name, r.Verdict)
		}
	}
}
