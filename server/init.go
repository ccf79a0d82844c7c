package server

import (
	"context"
	"fmt"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sfn"

	"ratchet/activities/steps"
)

// Init creates the tables, activities, queues and the state machine if they are missing, and updates
// the state machine to the definition of this program. It is idempotent. If the definition of orders,
// the state machine and the steps do not fit each other, it creates nothing and fails with
// [ErrStateMachine].
func (b *Backend) Init(ctx context.Context) error {
	// The tables are created before the state machine, because its executions need them.
	if err := b.InitResources(ctx); err != nil {
		return err
	}

	_, err := b.createStateMachine(ctx)

	return err
}

// InitResources is [Backend.Init] without the state machine, which stays as it is. During a rollout, the workers of
// this program need the tables, activities and queues before its state machine is deployed.
func (b *Backend) InitResources(ctx context.Context) error {
	if err := b.flow.fit(); err != nil {
		return err
	}

	if err := b.CreateTables(ctx); err != nil {
		return err
	}

	if err := b.createRequestsQueue(ctx); err != nil {
		return err
	}

	_, err := b.createActivities(ctx)

	return err
}

// createActivities creates the activities that are missing. It returns the ARNs of all needed activities
// by their placeholders in the state machine. CreateActivity is idempotent by name.
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

// neededActivities returns the activities that must exist: those that the state machine uses.
func (b *Backend) neededActivities() []steps.Activity {
	all := b.flow.activities()
	if !b.flow.changed {
		return all
	}

	needed := b.flow.placeholders()

	return slices.DeleteFunc(all, func(a steps.Activity) bool { return !slices.Contains(needed, a.Placeholder) })
}
