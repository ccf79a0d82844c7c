package faults

import (
	"encoding/json"
	"errors"
)

// Words of the services.
const (
	textThroughput = "The level of configured provisioned throughput for the table was exceeded. " +
		"Consider increasing your provisioning level with the UpdateTable API."
	textConflict = "Transaction is ongoing for the item"
	textRate     = "Rate exceeded"
)

// itemOperations are the operations of DynamoDB that use the throughput of a table.
var itemOperations = map[string]bool{
	"BatchExecuteStatement": true,
	"BatchGetItem":          true,
	"BatchWriteItem":        true,
	"DeleteItem":            true,
	"ExecuteStatement":      true,
	"GetItem":               true,
	"PutItem":               true,
	"Query":                 true,
	"Scan":                  true,
	"UpdateItem":            true,
}

// transactions has the member that lists the parts of a transaction.
var transactions = map[string]string{
	"ExecuteTransaction": "TransactStatements",
	"TransactGetItems":   "TransactItems",
	"TransactWriteItems": "TransactItems",
}

// Shape returns the answer that the service of the call gives for ErrThrottled and ErrConflict,
// and any other error unchanged.
func (c *Call) Shape(err error) error {
	switch {
	case errors.Is(err, ErrThrottled):
		return c.throttled()
	case errors.Is(err, ErrConflict):
		return c.conflict()
	}

	return err
}

func (c *Call) throttled() *Error {
	switch {
	case c.Service == "dynamodb" && transactions[c.Operation] != "":
		return c.canceled("ThrottlingError", textThroughput)
	case c.Service == "dynamodb" && itemOperations[c.Operation]:
		return &Error{Code: "ProvisionedThroughputExceededException", Message: textThroughput}
	case c.Service == "dynamodbstreams":
		return &Error{Code: "LimitExceededException", Message: textRate}
	case c.Service == "sqs":
		return &Error{Code: "RequestThrottled", Message: textRate}
	}

	return &Error{Code: "ThrottlingException", Message: textRate}
}

func (c *Call) conflict() *Error {
	if transactions[c.Operation] != "" {
		return c.canceled("TransactionConflict", textConflict)
	}

	return &Error{Code: "TransactionConflictException", Message: textConflict}
}

// canceled is the error of the transaction that the call makes, with a reason for its first
// item.
func (c *Call) canceled(code, text string) *Error {
	var members map[string]json.RawMessage
	var parts []json.RawMessage
	if json.Unmarshal(c.Body(), &members) == nil {
		_ = json.Unmarshal(members[transactions[c.Operation]], &parts) // a malformed request has one part here
	}

	// All parts have a reason, as in AWS's answer, and only the first one was refused.
	codes := make([]string, max(len(parts), 1))
	for i := range codes {
		codes[i] = "None"
	}
	codes[0] = code

	e := Canceled(codes...)

	// Canceled takes no texts, so the text of the first reason is added to the list that it made.
	e.Members["CancellationReasons"].([]map[string]string)[0]["Message"] = text

	return e
}
