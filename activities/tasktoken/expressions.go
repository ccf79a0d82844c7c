package tasktoken

import "ratchet/internal/dynamo"

// The texts of the UpdateItem with which Step Functions itself parks a task
// (aws-sdk:dynamodb:updateItem.waitForTaskToken). A test compares their attributes with those that
// this package reads.
const (
	// ParkUpdate stores the token and its attempt, and removes the row's expiry.
	ParkUpdate = "SET taskToken = :token, awaited = :awaited, since = :since, started = :started," +
		" redrives = :redrives, visits = :visits, retries = :retries REMOVE expiresAt"

	// ParkCondition fails if the order has moved beyond the transition that the execution knows, or if a
	// newer attempt has parked its token. Attempts are compared by execution, redrive, transition, visit
	// and retry.
	ParkCondition = "(attribute_not_exists(moved) OR moved <= :since)" +
		" AND (attribute_not_exists(started) OR started < :started OR (started = :started" +
		" AND (redrives < :redrives OR (redrives = :redrives" +
		" AND (since < :since OR (since = :since" +
		" AND (visits < :visits OR (visits = :visits AND retries <= :retries))))))))"
)

// Paths are the reference paths in the state data of an execution, such as "$.run.visits", from which
// a row gets its values.
type Paths struct {
	// OrderID is the order's id, a string.
	OrderID string
	// Since is the newest transition that the execution knows, a number.
	Since string
	// Visits is how often the execution has come back to its waits, a number.
	Visits string
}

// WaitParameters returns the Parameters of a Task state with the resource
// arn:aws:states:::aws-sdk:dynamodb:updateItem.waitForTaskToken, which parks its task in
// the table until the order reaches the awaited state. The table may be a placeholder. If
// the condition fails, the state fails with DynamoDb.ConditionalCheckFailedException.
func WaitParameters(table, awaited string, paths Paths) map[string]any {
	text := func(path string) map[string]any { return map[string]any{attributeS + ".$": path} }
	number := func(path string) map[string]any {
		// DynamoDB's JSON has numbers as strings, and the state data has numbers.
		return map[string]any{attributeN + ".$": "States.Format('{}', " + path + ")"}
	}

	return map[string]any{
		"TableName":           table,
		"Key":                 map[string]any{attrOrder: text(paths.OrderID)},
		"UpdateExpression":    ParkUpdate,
		"ConditionExpression": ParkCondition,
		"ExpressionAttributeValues": map[string]any{
			":token":    text("$$.Task.Token"),
			":awaited":  map[string]any{attributeS: awaited},
			":since":    number(paths.Since),
			":started":  text("$$.Execution.StartTime"),
			":redrives": number("$$.Execution.RedriveCount"),
			":visits":   number(paths.Visits),
			":retries":  number("$$.State.RetryCount"),
		},
	}
}

// The names of DynamoDB's types in a request.
const (
	attributeS = "S"
	attributeN = "N"
)

// The attributes that only ParkUpdate writes.
const (
	attrStarted  = "started"
	attrRedrives = "redrives"
	attrVisits   = "visits"
	attrRetries  = "retries"
)

// Attempt names one attempt of a waiting task. Two attempts are compared by Started, then Redrives,
// then the task's Since, then Visits, then Retries. The later attempt is the greater one.
type Attempt struct {
	// Started is when the execution was started, as Step Functions writes it. It is empty
	// in a row in which no execution has waited yet.
	Started string
	// Redrives counts the redrives of the execution. Visits counts how often the execution came back to
	// its waits. Retries counts the retries of the state.
	Redrives, Visits, Retries int64
}

func decodeAttempt(item dynamo.Item) Attempt {
	return Attempt{
		Started:  dynamo.Text(item, attrStarted),
		Redrives: dynamo.Number(item, attrRedrives),
		Visits:   dynamo.Number(item, attrVisits),
		Retries:  dynamo.Number(item, attrRetries),
	}
}
