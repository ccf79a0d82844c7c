package server

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sfn"
	"github.com/aws/aws-sdk-go-v2/service/sfn/types"

	"ratchet/activities/steps"
)

// Init creates the tables, activities, queues and the state machine that are missing, and
// updates the state machine to this version's definition. It is idempotent. It fails with
// [ErrStateMachine], and has created nothing, if definition, state machine and steps do not fit.
func (b *Backend) Init(ctx context.Context) error {
	if err := b.flow.fit(); err != nil {
		return err
	}

	// Tables first: an execution that finds the new state machine must find them.
	if err := b.CreateTables(ctx); err != nil {
		return err
	}

	if err := b.createRequestsQueue(ctx); err != nil {
		return err
	}

	_, err := b.createStateMachine(ctx)

	return err
}

// createActivities creates the activities that are missing and returns the ARNs of all by
// their placeholder in the state machine. CreateActivity is idempotent by name.
func (b *Backend) createActivities(ctx context.Context) (map[string]string, error) {
	arns := map[string]string{}
	for _, activity := range b.neededActivities() {
		name := b.Config.Prefix + activity.Name

		out, err := b.SFN.CreateActivity(ctx, &sfn.CreateActivityInput{Name: &name})
		if err != nil {
			return nil, fmt.Errorf("create activity %s: %w", name, err)
		}

		arns[activity.Placeholder] = aws.ToString(out.ActivityArn)
	}

	return arns, nil
}

// neededActivities returns the activities that must exist. If the state machine is not the built-in one,
// these are the activities that it uses.
func (b *Backend) neededActivities() []steps.Activity {
	all := b.flow.activities()
	if !b.flow.changed {
		return all
	}

	needed := b.flow.placeholders()

	return slices.DeleteFunc(all, func(a steps.Activity) bool { return !slices.Contains(needed, a.Placeholder) })
}

// machineDefinition returns the state machine with the ARNs of the activities, by their placeholders,
// and the names of tables.
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
	// Idempotent: with the same definition the call returns the existing machine. It ignores another role
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

	// The name exists with another definition: replace it. Running executions keep the
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

// StateMachineARN looks up the state machine by its name, once: the name has the same ARN for
// good. It fails with [ErrNotInitialized] if there is none.
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
	// By name and not by an ARN that is put together: the account's id is not known here.
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
