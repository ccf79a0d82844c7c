package server

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sfn"
	"github.com/aws/aws-sdk-go-v2/service/sfn/types"

	"ratchet/transitions"
)

// executionNameRule allows the length of a name but fewer characters than Step Functions:
// https://docs.aws.amazon.com/step-functions/latest/apireference/API_StartExecution.html
var executionNameRule = regexp.MustCompile(`^[A-Za-z0-9_-]{1,80}$`)

// ExecutionName returns the name of an order's execution: the order's id if Step Functions
// allows it as a name, else a digest of it. Names of executions are unique, so an order
// has at most one execution.
func ExecutionName(id transitions.OrderID) string {
	if executionNameRule.MatchString(string(id)) {
		return string(id)
	}
	sum := sha256.Sum256([]byte(id))

	return "order-" + hex.EncodeToString(sum[:16])
}

// Start starts the execution of an order and returns its ARN. It is idempotent: a repeat
// with the same order returns the same execution, also after its end. It fails with
// [ErrOtherOrder] if the order's id was used with other content, and with
// [transitions.ErrInvalidRequest] if the order breaks a rule.
func (b *Backend) Start(ctx context.Context, stateMachineARN string, order transitions.NewOrder) (executionARN string, err error) {
	if err := order.Validate(); err != nil {
		return "", err
	}

	input, err := json.Marshal(order)
	if err != nil {
		return "", err
	}

	name := ExecutionName(order.ID)
	out, err := b.SFN.StartExecution(ctx, &sfn.StartExecutionInput{
		StateMachineArn: &stateMachineARN,
		Name:            &name,
		Input:           aws.String(string(input)),
	})

	var exists *types.ExecutionAlreadyExists
	switch {
	case err == nil:
		return aws.ToString(out.ExecutionArn), nil
	case errors.As(err, &exists):
		// Step Functions answers a repeat with the existing execution only while it runs.
		return b.findStarted(ctx, stateMachineARN, name, string(input))
	}

	return "", fmt.Errorf("start the execution of order %s: %w", order.ID, err)
}

// ErrOtherOrder means that the order's id was used with other content.
var ErrOtherOrder = errors.New("an execution of this name was started with another order")

// findStarted returns the ARN of the execution with the name if it has the same input.
func (b *Backend) findStarted(ctx context.Context, stateMachineARN, name, input string) (string, error) {
	arn := executionARN(stateMachineARN, name)

	out, err := b.SFN.DescribeExecution(ctx, &sfn.DescribeExecutionInput{ExecutionArn: &arn})
	if err != nil {
		return "", fmt.Errorf("describe execution %s: %w", name, err)
	}

	if aws.ToString(out.Input) != input {
		return "", fmt.Errorf("start execution %s: %w", name, ErrOtherOrder)
	}

	return arn, nil
}

// executionARN returns the ARN that Step Functions gives to an execution of that name.
func executionARN(stateMachineARN, name string) string {
	return strings.Replace(stateMachineARN, ":stateMachine:", ":execution:", 1) + ":" + name
}

// ExecutionARN returns the ARN of the order's execution, whether it exists or not. It
// fails with [ErrNotInitialized] if there is no state machine.
func (b *Backend) ExecutionARN(ctx context.Context, id transitions.OrderID) (string, error) {
	arn, err := b.StateMachineARN(ctx)
	if err != nil {
		return "", err
	}

	return executionARN(arn, ExecutionName(id)), nil
}
