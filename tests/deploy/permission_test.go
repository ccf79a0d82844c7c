package deploy

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// permission is an IAM action on a resource. Resources are named without account, Region and
// prefix, like "table/orders", "table/deliveries/index/queue", "table/orders/stream/*",
// "activity/pay", "stateMachine/order", "execution/order/*", "queue/requests" or "*".
type permission struct{ action, resource string }

func (p permission) String() string { return p.action + " " + p.resource }

func parsePermission(line string) permission {
	action, resource, _ := strings.Cut(line, " ")

	return permission{action, resource}
}

const prefix = "ratchet-"

// body has the members of a request's body that the mapping reads.
type body struct {
	TableName, IndexName, StreamArn                  string
	RequestItems                                     map[string]json.RawMessage
	TransactItems                                    []map[string]struct{ TableName string }
	Statements                                       []struct{ Statement string }
	ActivityArn, StateMachineArn, ExecutionArn, Name string
	QueueURL                                         string `json:"QueueUrl"`
	QueueName                                        string
}

// transactActions are the actions that a member of a transaction needs: IAM has none for the
// transaction itself (DynamoDB developer guide, "Using IAM with DynamoDB transactions").
var transactActions = map[string]string{
	"Put":            "dynamodb:PutItem",
	"Update":         "dynamodb:UpdateItem",
	"Delete":         "dynamodb:DeleteItem",
	"ConditionCheck": "dynamodb:ConditionCheckItem",
	"Get":            "dynamodb:GetItem",
}

// permissionsOf returns the permissions that a call needs. The target is the header X-Amz-Target.
func permissionsOf(target string, text []byte) ([]permission, error) {
	service, operation, _ := strings.Cut(target, ".")
	if operation == "NameTheEngine" {
		return nil, nil // asks an endpoint other than AWS's whether it is the engine
	}

	var b body
	if len(text) > 0 {
		if err := json.Unmarshal(text, &b); err != nil {
			return nil, fmt.Errorf("%s: %w", target, err)
		}
	}

	switch service {
	case "DynamoDB_20120810":
		return dynamoPermissions(operation, b)
	case "DynamoDBStreams_20120810":
		if operation == "ListStreams" {
			return []permission{{"dynamodb:ListStreams", "*"}}, nil
		}

		// The iterator of a GetRecords names its stream in a form that only DynamoDB reads; only
		// the orders' stream is read.
		return []permission{{"dynamodb:" + operation, "table/orders/stream/*"}}, nil
	case "AWSStepFunctions":
		return stepFunctionsPermissions(operation, b)
	case "AmazonSQS":
		name := b.QueueName
		if b.QueueURL != "" {
			name = b.QueueURL[strings.LastIndexByte(b.QueueURL, '/')+1:]
		}

		name = strings.TrimPrefix(name, prefix)
		if strings.HasPrefix(name, "listen-") {
			name = "listen-*" // `ratchet listen` makes a queue for itself
		}

		return []permission{{sqsAction(operation), "queue/" + name}}, nil
	}

	return nil, fmt.Errorf("a call of an unknown service: %q", target)
}

// sqsAction returns the action of an operation: a batch of SQS has the action of the single call.
func sqsAction(operation string) string { return "sqs:" + strings.TrimSuffix(operation, "Batch") }

func dynamoPermissions(operation string, b body) ([]permission, error) {
	switch operation {
	case "ListTables":
		return []permission{{"dynamodb:ListTables", "*"}}, nil
	case "TransactWriteItems", "TransactGetItems":
		var needed []permission
		for _, member := range b.TransactItems {
			for kind, item := range member {
				action, known := transactActions[kind]
				if !known {
					return nil, fmt.Errorf("%s: unknown member %s", operation, kind)
				}
				needed = append(needed, permission{action, tableResource(item.TableName)})
			}
		}

		return needed, nil
	case "BatchGetItem", "BatchWriteItem":
		var needed []permission
		for table := range b.RequestItems {
			needed = append(needed, permission{"dynamodb:" + operation, tableResource(table)})
		}

		return needed, nil
	}

	if operation == "BatchExecuteStatement" {
		var needed []permission
		for _, s := range b.Statements {
			quoted, isInsert := strings.CutPrefix(s.Statement, `INSERT INTO "`)

			table, _, isQuoted := strings.Cut(quoted, `"`)
			if !isInsert || !isQuoted {
				return nil, fmt.Errorf("%s: a statement of another kind: %s", operation, s.Statement)
			}
			needed = append(needed, permission{"dynamodb:PartiQLInsert", tableResource(table)})
		}

		return needed, nil
	}

	switch {
	case b.TableName == "":
		return nil, fmt.Errorf("%s: no table", operation)
	case b.IndexName != "":
		return []permission{{"dynamodb:" + operation, tableResource(b.TableName) + "/index/" + b.IndexName}}, nil
	}

	return []permission{{"dynamodb:" + operation, tableResource(b.TableName)}}, nil
}

func tableResource(name string) string { return "table/" + strings.TrimPrefix(name, prefix) }

// onNothing are the actions of Step Functions that know no resource: the token of a task names
// none (Service Authorization Reference, "Actions defined by AWS Step Functions").
var onNothing = []string{"ListStateMachines", "ListActivities", "SendTaskSuccess", "SendTaskFailure", "SendTaskHeartbeat"}

func stepFunctionsPermissions(operation string, b body) ([]permission, error) {
	action := "states:" + operation

	arn := b.ActivityArn + b.StateMachineArn + b.ExecutionArn
	switch {
	case slices.Contains(onNothing, operation):
		return []permission{{action, "*"}}, nil
	case operation == "CreateStateMachine":
		return []permission{{action, "stateMachine/" + strings.TrimPrefix(b.Name, prefix)}}, nil
	case operation == "CreateActivity":
		return []permission{{action, "activity/" + strings.TrimPrefix(b.Name, prefix)}}, nil
	case b.ExecutionArn != "":
		return []permission{{action, "execution/order/*"}}, nil
	case b.ActivityArn != "":
		return []permission{{action, "activity/" + strings.TrimPrefix(arn[strings.LastIndexByte(arn, ':')+1:], prefix)}}, nil
	case b.StateMachineArn != "":
		return []permission{{action, "stateMachine/order"}}, nil
	}

	return nil, fmt.Errorf("%s: no resource", operation)
}
