package transitions

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/internal/dynamo"
	"ratchet/workflow"
)

// Guards are part of the conditional write: an order that they do not allow refuses
// it like one in the wrong state. Only then are they evaluated here, on the image that
// DynamoDB returned with the refusal, to say which one was in the way.

// choose finds, among an event's moves, the one that the order as it stands would
// make. Without one it says why: the guards that were in the way, or "" when the state
// was.
func choose(r Request, groups []workflow.Group, order *Order) (move workflow.Group, reason string, found bool, err error) {
	var data map[string]any
	for _, g := range groups {
		if !slices.Contains(g.From, order.State) {
			continue
		}

		if len(g.Guards) > 0 && data == nil {
			data = order.GuardData()
		}

		unmet, err := firstUnmet(g.Guards, data, r.Values)
		switch {
		case err != nil:
			return workflow.Group{}, "", false, fmt.Errorf("%w: values: %w", ErrInvalidRequest, err)
		case unmet == nil:
			return g, "", true, nil
		case reason != "":
			reason += "; "
		}
		reason += fmt.Sprintf("guard %s (to %s) needs %s", unmet.Name, g.To, unmet)
	}

	return workflow.Group{}, reason, false, nil
}

func firstUnmet(guards []workflow.Guard, data, values map[string]any) (*workflow.Guard, error) {
	for i := range guards {
		if holds, err := guards[i].Holds(data, values); err != nil || !holds {
			return &guards[i], err
		}
	}

	return nil, nil
}

// checkValues refuses a request that does not say what the event's guards ask for,
// whichever of them will be looked at.
func (r Request) checkValues(groups []workflow.Group) error {
	for _, g := range groups {
		if len(g.Guards) == 0 {
			continue
		}

		if _, err := workflow.RenderGuards(g.Guards, "g", r.Values); err != nil {
			return fmt.Errorf("%w: values: %w", ErrInvalidRequest, err)
		}
	}

	return nil
}

// guarded adds the move's guards to a condition and returns the names that they need,
// nil without guards. checkValues has seen the request.
func (w write) guarded(condition string, values image) (string, map[string]string, error) {
	if len(w.group.Guards) == 0 {
		return condition, nil, nil
	}

	c, err := workflow.RenderGuards(w.group.Guards, "g", w.request.Values)
	if err != nil {
		return "", nil, fmt.Errorf("%w: values: %w", ErrInvalidRequest, err)
	}

	for name, v := range c.Values {
		switch v := v.(type) {
		case string:
			values[name] = dynamo.S(v)
		case int64:
			values[name] = dynamo.N(v)
		case bool:
			values[name] = &types.AttributeValueMemberBOOL{Value: v}
		default:
			return "", nil, fmt.Errorf("guard value %s is a %T", name, v)
		}
	}

	return condition + " AND " + c.Expression, c.Names, nil
}

// GuardData is the order as guards see it (see [workflow.Guard.Holds]): every attribute of
// its item. It is empty for an order that was not read whole.
func (o *Order) GuardData() map[string]any { return plainMap(o.item) }

// plainMap turns an image into what guards are evaluated on.
func plainMap(item image) map[string]any {
	out := make(map[string]any, len(item))
	for name, v := range item {
		out[name] = plain(v)
	}

	return out
}

func plain(v types.AttributeValue) any {
	switch v := v.(type) {
	case *types.AttributeValueMemberS:
		return v.Value
	case *types.AttributeValueMemberN:
		return json.Number(v.Value)
	case *types.AttributeValueMemberB:
		return v.Value
	case *types.AttributeValueMemberBOOL:
		return v.Value
	case *types.AttributeValueMemberM:
		return plainMap(v.Value)
	case *types.AttributeValueMemberL:
		return plainList(v.Value, plain)
	case *types.AttributeValueMemberSS:
		return plainList(v.Value, func(s string) any { return s })
	case *types.AttributeValueMemberNS:
		return plainList(v.Value, func(s string) any { return json.Number(s) })
	case *types.AttributeValueMemberBS:
		return plainList(v.Value, func(b []byte) any { return b })
	}

	return nil
}

func plainList[T any](values []T, to func(T) any) []any {
	out := make([]any, len(values))
	for i, v := range values {
		out[i] = to(v)
	}

	return out
}
