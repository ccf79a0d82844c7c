package transitions

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/internal/dynamo"
)

// life names an order's present life, and the lives that it continues: an order that was restored to
// an earlier time goes on under a new incarnation, and its transitions until then are in the journal
// under the incarnations before (see [Orders.Renew]).
type life struct {
	id          OrderID
	incarnation Incarnation
	earlier     []span // oldest first
}

// span is a part of an order's history: the transitions of one life up to an id.
type span struct {
	incarnation Incarnation
	upTo        TransitionID // 0 is no end: the present life
}

// livesAttribute lists the lives that an order continues. Only an order that was renewed has it.
const livesAttribute = "lives"

// maxLives is how many earlier lives an order remembers: the first one and the newest. The history of
// others is not found.
const maxLives = 16

func (o *Order) life() life { return life{o.ID, o.Incarnation, o.earlier} }

// spans returns the parts of the history, oldest first.
func (l life) spans() []span {
	return append(slices.Clone(l.earlier), span{incarnation: l.incarnation})
}

// renewed returns the life that an order begins under a new incarnation after the transition.
func (l life) renewed(i Incarnation, last TransitionID) life {
	earlier := append(slices.Clone(l.earlier), span{l.incarnation, last})
	// A life in which the order never moved has no rows above the life before.
	earlier = slices.CompactFunc(earlier, func(a, b span) bool { return a.upTo == b.upTo })

	if surplus := len(earlier) - maxLives; surplus > 0 {
		earlier = slices.Delete(earlier, 1, 1+surplus)
	}

	return life{l.id, i, earlier}
}

// value returns the attribute livesAttribute, nil if the life continues no other.
func (l life) value() types.AttributeValue {
	if len(l.earlier) == 0 {
		return nil
	}

	list := make([]types.AttributeValue, len(l.earlier))
	for i, s := range l.earlier {
		list[i] = dynamo.S(fmt.Sprintf("%s#%d", s.incarnation, s.upTo))
	}

	return &types.AttributeValueMemberL{Value: list}
}

// lives reads the attribute livesAttribute.
func (r *reader) lives(item image, name string) (earlier []span) {
	if item[name] == nil {
		return nil
	}

	list, ok := item[name].(*types.AttributeValueMemberL)
	if !ok {
		r.fail(name, "a list")
		return nil
	}

	for _, v := range list.Value {
		text, _ := v.(*types.AttributeValueMemberS)
		if text == nil {
			r.fail(name, "a list of texts")
			continue
		}

		var s span
		incarnation, upTo, _ := strings.Cut(text.Value, "#")
		if _, err := fmt.Sscan(upTo, &s.upTo); err != nil {
			r.fail(name, `a list of "<incarnation>#<transitionId>"`)
			continue
		}
		s.incarnation = Incarnation(incarnation)
		earlier = append(earlier, s)
	}

	return earlier
}

// entryAttribute is the sort key of the journal.
const entryAttribute = "entry"

// entry is the sort key of a row: <incarnation>#<transitionId, 16 digits>. So one query returns the
// rows of all lives of an id, in order, and one with a range the rows of one life. 16 digits hold every
// transitionId, which is below 2^53.
func (i Incarnation) entry(t TransitionID) string { return fmt.Sprintf("%s#%016d", i, t) }

// rowKey is the key of a row of the journal.
func rowKey(id OrderID, i Incarnation, t TransitionID) image {
	return image{"orderId": dynamo.S(string(id)), entryAttribute: dynamo.S(i.entry(t))}
}

// lifeOf returns the life of the order with the id, or, if there is no such order, the newest life that
// the journal has. It reports false if there is neither.
func (o *Orders) lifeOf(ctx context.Context, id OrderID) (life, bool, error) {
	order, found, err := o.get(ctx, id)
	if err != nil || found {
		return order.lifeIfAny(), found, err
	}

	return o.newestLife(ctx, id)
}

func (o *Order) lifeIfAny() life {
	if o == nil {
		return life{}
	}

	return o.life()
}

// newestLife returns the newest life of the id in the journal. Incarnations sort by time, so it has
// the last row, which names the lives that it continues.
func (o *Orders) newestLife(ctx context.Context, id OrderID) (life, bool, error) {
	out, err := o.cfg.DynamoDB.Query(ctx, &dynamodb.QueryInput{
		TableName:                 &o.cfg.JournalTable,
		KeyConditionExpression:    aws.String("orderId = :order"),
		ConsistentRead:            aws.Bool(true),
		ScanIndexForward:          aws.Bool(false),
		Limit:                     aws.Int32(1),
		ExpressionAttributeValues: image{":order": dynamo.S(string(id))},
	})
	switch {
	case err != nil:
		return life{}, false, asUnavailable(ctx, err)
	case len(out.Items) == 0:
		return life{}, false, nil
	}

	r := reader{}
	incarnation, _, _ := strings.Cut(r.text(out.Items[0], entryAttribute), "#")
	l := life{id, Incarnation(incarnation), r.lives(out.Items[0], livesAttribute)}

	return l, r.err == nil, r.err
}
