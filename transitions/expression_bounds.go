package transitions

import (
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/workflow"
)

// The bounds of one expression, see
// https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Constraints.html#limits-expression-parameters
const (
	maxExpression = 4 << 10 // bytes of text
	maxOperators  = 300
	maxOperands   = 100 // of IN
	maxValues     = 2<<20 - maxRequestValues
)

// checkExpressions renders the longest write of every event, and returns an error that names the first
// event whose write DynamoDB would refuse.
func (o *Orders) checkExpressions() error {
	if n := len(o.versions.known); n > maxOperands {
		return fmt.Errorf("transitions: Config.Versions: %d versions, at most %d fit into one condition", n, maxOperands)
	}

	for _, event := range o.def.Events() {
		for _, g := range o.def.Groups(event) {
			if err := o.checkExpression(event, g); err != nil {
				return fmt.Errorf("transitions: Config.Definition: event %s to %s: %w", event, g.To, err)
			}
		}
	}

	return nil
}

func (o *Orders) checkExpression(event workflow.Event, g workflow.Group) error {
	if len(g.From) > maxOperands {
		return fmt.Errorf("it leaves %d states, and one condition compares at most %d", len(g.From), maxOperands)
	}

	// A value of the request is rendered like one of the definition.
	g.Guards = append([]workflow.Guard(nil), g.Guards...)
	for i := range g.Guards {
		if g.Guards[i].Request != "" {
			g.Guards[i].Request, g.Guards[i].Value = "", int64(0)
		}
	}

	content, key := int64(0), digest{1}

	update, err := o.render(&step{
		request:       Request{OrderID: "o", Event: event, RequestID: "r", IfContent: &content, Incarnation: adoptedIncarnation},
		transition:    Transition{ID: ringSize, Event: event, To: g.To, request: key, Cause: Cause{Code: "c", Text: "t"}},
		move:          g,
		blind:         true,
		requestsAfter: 1,
	}, nil)
	if err != nil {
		return err
	}
	condition := *update.ConditionExpression

	size := 0
	for name, v := range update.ExpressionAttributeValues {
		size += len(name)
		if s, ok := v.(*types.AttributeValueMemberS); ok {
			size += len(s.Value)
		}
	}

	switch {
	case len(condition) > maxExpression:
		return fmt.Errorf("its states and guards make a condition of %d bytes, at most %d", len(condition), maxExpression)
	case operators(condition) > maxOperators:
		return fmt.Errorf("its guards make a condition of %d operators, at most %d", operators(condition), maxOperators)
	case size > maxValues:
		return fmt.Errorf("its guards compare with %d bytes of values, at most %d", size, maxValues)
	}

	return nil
}

// operators counts the operators and functions of a condition.
func operators(condition string) (n int) {
	for _, o := range []string{" AND ", " OR ", "NOT ", " = ", " <> ", " < ", " <= ", " > ", " >= ", " IN (", "attribute_", "size("} {
		n += strings.Count(condition, o)
	}

	return n
}
