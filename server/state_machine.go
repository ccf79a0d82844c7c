package server

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sfn"
	"github.com/aws/aws-sdk-go-v2/service/sfn/types"
)

// machineDefinition returns the state machine with its placeholders replaced: by the ARNs of the
// activities, which arns has by placeholder, and by the name of the table of parked tasks.
func (b *Backend) machineDefinition(arns map[string]string) string {
	definition := strings.ReplaceAll(b.flow.asl, "${"+tokensTable+"}", b.Tables.Parked)
	for placeholder, arn := range arns {
		definition = strings.ReplaceAll(definition, "${"+placeholder+"}", arn)
	}

	return definition
}

// createStateMachine creates or updates the state machine and returns its ARN.
func (b *Backend) createStateMachine(ctx context.Context) (string, error) {
	arns, err := b.createActivities(ctx)
	if err != nil {
		return "", err
	}

	definition := b.machineDefinition(arns)

	name := b.stateMachineName()
	// If the state machine exists with the same definition, the call returns it, even if the role differs
	// (API reference, CreateStateMachine).
	created, err := b.SFN.CreateStateMachine(ctx, &sfn.CreateStateMachineInput{
		Name:       &name,
		Definition: &definition,
		RoleArn:    &b.Config.RoleARN,
		Type:       types.StateMachineTypeStandard,
	})

	var exists *types.StateMachineAlreadyExists
	switch {
	case err == nil:
		return aws.ToString(created.StateMachineArn), nil
	case !errors.As(err, &exists):
		return "", fmt.Errorf("create state machine %s: %w", name, err)
	}

	// The state machine exists with another definition, which is replaced. Running executions keep the
	// definition with which they were started.
	arn, err := b.StateMachineARN(ctx)
	if err != nil {
		return "", err
	}

	_, err = b.SFN.UpdateStateMachine(ctx, &sfn.UpdateStateMachineInput{
		StateMachineArn: &arn,
		Definition:      &definition,
		RoleArn:         &b.Config.RoleARN,
	})
	if err != nil {
		return "", fmt.Errorf("update state machine %s: %w", name, err)
	}

	return arn, nil
}

func (b *Backend) stateMachineName() string { return b.Config.Prefix + b.flow.machineName() }

// ErrNotInitialized means that the state machine does not exist.
var ErrNotInitialized = errors.New("not initialized: run `ratchet init` (or `ratchet dev`) first")

// StateMachineARN looks up the state machine by its name. It remembers the ARN, which never changes for
// a name. It fails with [ErrNotInitialized] if there is no state machine.
func (b *Backend) StateMachineARN(ctx context.Context) (string, error) {
	if known := b.machineARN.Load(); known != nil {
		return *known, nil
	}

	found, err := b.findStateMachine(ctx)
	if err == nil {
		b.machineARN.Store(&found)
	}

	return found, err
}

func (b *Backend) findStateMachine(ctx context.Context) (string, error) {
	name := b.stateMachineName()
	// The list is searched by name: an ARN cannot be composed, because the account's id is not known here.
	pages := sfn.NewListStateMachinesPaginator(b.SFN, &sfn.ListStateMachinesInput{})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return "", fmt.Errorf("list state machines: %w", err)
		}

		for _, machine := range page.StateMachines {
			if aws.ToString(machine.Name) == name {
				return aws.ToString(machine.StateMachineArn), nil
			}
		}
	}

	return "", fmt.Errorf("state machine %s: %w", name, ErrNotInitialized)
}
