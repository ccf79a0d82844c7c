package model

import "fmt"

// Count checks the length of a list: 1 to limit. The message does not quote its members.
func (c *Constraints) Count(n int, missing bool, member string, limit int) {
	if missing {
		c.Missing(member)
		return
	}

	if n < 1 || n > limit {
		c.Length(n, membersText(n), member, 1, limit)
	}
}

// membersText returns a list as the message about its length quotes it.
func membersText(n int) string {
	if n == 0 {
		return "[]"
	}

	return fmt.Sprintf("[%d members]", n)
}

// AttributesToGet checks how many attributes an AttributesToGet names.
func (c *Constraints) AttributesToGet(names []string, member string) {
	if names != nil && (len(names) < 1 || len(names) > MaxName) {
		c.Length(len(names), List(names), member, 1, MaxName)
	}
}

// ReturnValues checks a ReturnValues against the values of all operations.
func (c *Constraints) ReturnValues(value string) {
	c.OneOf(value, "returnValues", "ALL_NEW", "UPDATED_OLD", "ALL_OLD", "NONE", "UPDATED_NEW")
}

// ReturnsOnFailure checks a ReturnValuesOnConditionCheckFailure.
func (c *Constraints) ReturnsOnFailure(value string) {
	c.OneOf(value, "returnValuesOnConditionCheckFailure", "ALL_OLD", "NONE")
}

// Resource checks a ResourceArn against the API model.
func (c *Constraints) Resource(arn *string) {
	if arn == nil {
		c.Missing("resourceArn")
		return
	}
	c.Length(len(*arn), *arn, "resourceArn", 1, 1283)
}

// CheckCount is Count for a request that breaks the model with nothing else.
func CheckCount(n int, missing bool, member string, limit int) error {
	var c Constraints
	c.Count(n, missing, member, limit)

	return c.Err()
}
