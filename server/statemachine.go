package server

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sfn"
	"github.com/aws/aws-sdk-go-v2/service/sfn/types"

	"ratchet"
	"ratchet/activities/steps"
	"ratchet/workflow/check"
)

// Init creates the tables, the activities, the queues and the state machine that are missing,
// and brings the state machine up to date. It may be run any number of times.
func (b *Backend) Init(ctx context.Context) error {
	if err := b.CreateTables(ctx); err != nil {
		return err
	}

	if err := b.createRequestsQueue(ctx); err != nil {
		return err
	}
	_, err := b.createStateMachine(ctx)

	return err
}

// activityARNs creates the activities (which is idempotent by name) and returns
// their ARNs by placeholder.
func (b *Backend) activityARNs(ctx context.Context) (map[string]string, error) {
	arns := map[string]string{}
	for _, s := range steps.Activities() {
		out, err := b.SFN.CreateActivity(ctx, &sfn.CreateActivityInput{Name: aws.String(b.Config.Prefix + s.Name)})
		if err != nil {
			return nil, fmt.Errorf("create activity %s%s: %w", b.Config.Prefix, s.Name, err)
		}
		arns[s.Placeholder] = aws.ToString(out.ActivityArn)
	}

	return arns, nil
}

// createStateMachine creates or updates the state machine and returns its ARN.
func (b *Backend) createStateMachine(ctx context.Context) (string, error) {
	arns, err := b.activityARNs(ctx)
	if err != nil {
		return "", err
	}

	definition := ratchet.StateMachine
	for placeholder, arn := range arns {
		definition = strings.ReplaceAll(definition, "${"+placeholder+"}", arn)
	}

	name := b.stateMachineName()
	created, err := b.SFN.CreateStateMachine(ctx, &sfn.CreateStateMachineInput{
		Name: &name, Definition: &definition, RoleArn: &b.Config.RoleARN, Type: types.StateMachineTypeStandard})
	var exists *types.StateMachineAlreadyExists
	switch {
	case err == nil:
		return aws.ToString(created.StateMachineArn), nil
	case !errors.As(err, &exists):
		return "", fmt.Errorf("create state machine %s: %w", name, err)
	}

	arn, err := b.StateMachineARN(ctx)
	if err != nil {
		return "", err
	}

	if _, err := b.SFN.UpdateStateMachine(ctx, &sfn.UpdateStateMachineInput{StateMachineArn: &arn, Definition: &definition, RoleArn: &b.Config.RoleARN}); err != nil {
		return "", fmt.Errorf("update state machine %s: %w", name, err)
	}

	return arn, nil
}

func (b *Backend) stateMachineName() string { return b.Config.Prefix + "order" }

// ErrNotInitialised: the state machine does not exist yet.
var ErrNotInitialised = errors.New("not initialised: run `ratchet init` (or `ratchet dev`) first")

// StateMachineARN looks the state machine up by its name.
func (b *Backend) StateMachineARN(ctx context.Context) (string, error) {
	name := b.stateMachineName()
	pages := sfn.NewListStateMachinesPaginator(b.SFN, &sfn.ListStateMachinesInput{})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return "", fmt.Errorf("list state machines: %w", err)
		}

		for _, m := range page.StateMachines {
			if aws.ToString(m.Name) == name {
				return aws.ToString(m.StateMachineArn), nil
			}
		}
	}

	return "", fmt.Errorf("state machine %s: %w", name, ErrNotInitialised)
}

// checkDefinition refuses a definition of orders from a file that the state machine does
// not fit. That the built-in one does, a test shows.
func (b *Backend) checkDefinition() error {
	if b.Config.OrderDefinition == "" {
		return nil
	}

	cfg := steps.CheckConfig()
	cfg.File = "statemachine.asl.json"

	report, err := check.StateMachine([]byte(ratchet.StateMachine), b.Orders.Definition(), cfg)
	if err != nil {
		return err
	}

	for _, f := range report.Findings {
		if f.Severity == check.SeverityError {
			return fmt.Errorf("the state machine does not fit the definition of orders: %s at %s: %s (`ratchet check --definition %s` shows all)",
				f.Code, f.State, f.Message, b.Config.OrderDefinition)
		}
	}

	return nil
}
