package server

import (
	"context"
	"fmt"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sfn"

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
