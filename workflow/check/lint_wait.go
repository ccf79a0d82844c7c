package check

import "strings"

// waitSuffix ends the resource of a task that parks its token in an item of DynamoDB.
const waitSuffix = ":dynamodb:updateItem.waitForTaskToken"

// lintWait checks the key under which a task that waits for a state of the order parks its token. The token
// is answered under orderId.incarnation: under another key nothing ever answers it, or a task of a former
// life of the order is answered instead.
func (c *checker) lintWait(s *aslState) {
	if s.effect.Awaits == "" || !strings.HasSuffix(s.resource, waitSuffix) {
		return
	}

	const rule = "a task is parked under the life of its order, orderId.incarnation, as States.Format('{}.{}', $.orderId, $.order.incarnation); under another key nothing answers it"

	text, line := waitKey(s)

	switch {
	case text == "":
		c.at(SeverityError, "wait-key", s, line, "the wait has no text as its Key.orderId; %s", rule)
	case strings.Contains(text, "incarnation"):
	case strings.Contains(text, "orderId") || !strings.ContainsAny(text, "$"):
		c.at(SeverityError, "wait-key", s, line, "the key of the wait, %s, lacks the incarnation; %s", text, rule)
	default:
		c.at(SeverityWarning, "wait-key", s, line, "the key of the wait, %s, does not show an incarnation; %s", text, rule)
	}
}

// waitKey returns the text or expression of the key, with its line; "" if there is none.
func waitKey(s *aslState) (text string, line int) {
	n := s.parameters
	for _, name := range []string{"Key", "orderId"} {
		if n = n.Get(name); n == nil {
			return "", 0
		}
		line = n.Line
	}

	for _, name := range []string{"S.$", "S"} {
		if v := n.Get(name); v != nil {
			return v.Text, v.Line
		}
	}

	return "", line
}
