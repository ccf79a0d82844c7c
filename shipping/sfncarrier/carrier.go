// Package sfncarrier is a shipping.Carrier that starts a Step Functions execution for each
// shipment, for shops whose warehouse is a state machine.
//
// # Model
//
// Book starts the execution under a name that follows from the shipment's key, so a repeat finds
// it; its name is the tracking number. Its input is {"shipment": KEY, "orderId": ID}. The
// execution succeeds when the parcel leaves, and reports what happens to it as a carrier does
// (package shipping/reports, POST /v1/callbacks/carrier) or by moving the order itself.
//
// Cancel stops an execution that runs; a parcel must not leave after that. It reports the parcel
// as left if the execution has succeeded. Step Functions keeps an execution for 90 days after its
// end; the claim of package shipping keeps the booking for 30.
package sfncarrier

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

	"ratchet/shipping"
)

// stepFunctions is what this package calls of *sfn.Client.
type stepFunctions interface {
	StartExecution(context.Context, *sfn.StartExecutionInput, ...func(*sfn.Options)) (*sfn.StartExecutionOutput, error)
	StopExecution(context.Context, *sfn.StopExecutionInput, ...func(*sfn.Options)) (*sfn.StopExecutionOutput, error)
	DescribeExecution(context.Context, *sfn.DescribeExecutionInput, ...func(*sfn.Options)) (*sfn.DescribeExecutionOutput, error)
}

var (
	machineRule = regexp.MustCompile(`^arn:[^:]+:states:[^:]+:[0-9]{12}:stateMachine:[^:]+$`)
	nameRule    = regexp.MustCompile(`^[A-Za-z0-9_-]{1,80}$`)
)

// Carrier starts executions. It is safe for concurrent use.
type Carrier struct {
	sfn     stepFunctions
	machine string
}

// New returns a Carrier that starts executions of the state machine with the ARN. The error names
// what breaks a rule.
func New(client stepFunctions, machineARN string) (*Carrier, error) {
	if client == nil {
		return nil, errors.New("sfncarrier: the client must be set")
	}

	if !machineRule.MatchString(machineARN) {
		return nil, fmt.Errorf("sfncarrier: %.200q: must be the ARN of a state machine", machineARN)
	}

	return &Carrier{client, machineARN}, nil
}

// name returns the name of the shipment's execution.
func name(key string) string {
	if plain := strings.ReplaceAll(key, "/", "-"); nameRule.MatchString(plain) {
		return plain
	}
	sum := sha256.Sum256([]byte(key))

	return "shipment-" + hex.EncodeToString(sum[:16])
}

func (c *Carrier) arn(key string) string {
	return strings.Replace(c.machine, ":stateMachine:", ":execution:", 1) + ":" + name(key)
}

// Book starts the execution of the shipment and returns its name, as shipping.Carrier describes.
func (c *Carrier) Book(ctx context.Context, key, orderID string) (tracking string, err error) {
	input, err := json.Marshal(map[string]string{"shipment": key, "orderId": orderID})
	if err != nil {
		return "", err
	}

	tracking = name(key)
	_, err = c.sfn.StartExecution(ctx, &sfn.StartExecutionInput{
		StateMachineArn: &c.machine,
		Name:            &tracking,
		Input:           aws.String(string(input)),
	})

	// A repeat is answered with the execution while it runs.
	if _, exists := errors.AsType[*types.ExecutionAlreadyExists](err); exists {
		var status types.ExecutionStatus
		if status, _, err = c.status(ctx, key); err == nil && status == types.ExecutionStatusAborted {
			err = shipping.ErrCanceled
		}
	}

	if err != nil {
		return "", fmt.Errorf("start the execution of shipment %s: %w", key, err)
	}

	return tracking, nil
}

// Cancel stops the execution of the shipment, as shipping.Carrier describes. A shipment without
// an execution is not remembered as canceled: the claim of a shipping.Booker does that.
func (c *Carrier) Cancel(ctx context.Context, key string) (left bool, err error) {
	if _, err = c.sfn.StopExecution(ctx, &sfn.StopExecutionInput{
		ExecutionArn: aws.String(c.arn(key)),
		Error:        aws.String("Shipment.Canceled"),
	}); err != nil && !isUnknown(err) {
		return false, fmt.Errorf("stop the execution of shipment %s: %w", key, err)
	}

	// Stopping an execution that has ended changes nothing, so its status tells what was first.
	status, exists, err := c.status(ctx, key)
	if err != nil {
		return false, fmt.Errorf("stop the execution of shipment %s: %w", key, err)
	}

	return exists && status == types.ExecutionStatusSucceeded, nil
}

func (c *Carrier) status(ctx context.Context, key string) (status types.ExecutionStatus, exists bool, err error) {
	out, err := c.sfn.DescribeExecution(ctx, &sfn.DescribeExecutionInput{ExecutionArn: aws.String(c.arn(key))})
	switch {
	case isUnknown(err):
		return "", false, nil
	case err != nil:
		return "", false, err
	}

	return out.Status, true, nil
}

func isUnknown(err error) bool {
	_, unknown := errors.AsType[*types.ExecutionDoesNotExist](err)
	return unknown
}
