package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
)

// kinds are what the stacks and the check create: how each is listed, and how one is removed whose stack is gone.
type kind struct {
	name   string
	list   func(context.Context, *check) ([]string, error)
	remove func(context.Context, *check, string) error
}

func kinds(prefix string) []kind {
	return []kind{
		{"stack", byCLI("cloudformation", "describe-stacks", "--query", "Stacks[?StackStatus!='DELETE_COMPLETE'].StackName"), nil},
		{"table", byCLI("dynamodb", "list-tables", "--query", "TableNames"), removeTable},
		{"queue", listQueues, removeQueue},
		{"bucket", byCLI("s3api", "list-buckets", "--query", "Buckets[].Name"), func(ctx context.Context, c *check, name string) error {
			_, err := c.aws(ctx, "s3", "rb", "--force", "s3://"+name)
			return err
		}},
		// These go with their stacks.
		{"activity", byCLI("stepfunctions", "list-activities", "--query", "activities[].activityArn"), nil},
		{"state machine", byCLI("stepfunctions", "list-state-machines", "--query", "stateMachines[].stateMachineArn"), nil},
		{"role", byCLI("iam", "list-roles", "--query", "Roles[].RoleName"), nil},
		{"policy", byCLI("iam", "list-policies", "--scope", "Local", "--query", "Policies[].PolicyName"), nil},
		{"topic", byCLI("sns", "list-topics", "--query", "Topics[].TopicArn"), nil},
		{"alarm", byCLI("cloudwatch", "describe-alarms", "--alarm-name-prefix", prefix, "--query", "MetricAlarms[].AlarmName"), nil},
		{"rule", byCLI("events", "list-rules", "--name-prefix", prefix, "--query", "Rules[].Name"), nil},
	}
}

// byCLI lists what a command of the AWS CLI answers.
func byCLI(args ...string) func(context.Context, *check) ([]string, error) {
	return func(ctx context.Context, c *check) ([]string, error) { return c.list(ctx, args...) }
}

// queues is the client of the queues: the CLI does not find them at another endpoint.
func queues(ctx context.Context) (*sqs.Client, error) {
	cfg, err := config.LoadDefaultConfig(ctx)

	return sqs.NewFromConfig(cfg), err
}

func listQueues(ctx context.Context, c *check) ([]string, error) {
	client, err := queues(ctx)
	if err != nil {
		return nil, err
	}

	page, err := client.ListQueues(ctx, &sqs.ListQueuesInput{QueueNamePrefix: &c.prefix})
	if err != nil {
		return nil, fmt.Errorf("list queues: %w", err)
	}

	return page.QueueUrls, nil
}

func removeQueue(ctx context.Context, _ *check, url string) error {
	client, err := queues(ctx)
	if err == nil {
		_, err = client.DeleteQueue(ctx, &sqs.DeleteQueueInput{QueueUrl: &url})
	}

	return err
}

// removeTable removes a table that its stack has left, with its protection.
func removeTable(ctx context.Context, c *check, name string) error {
	cfg, err := config.LoadDefaultConfig(ctx)
	if err != nil {
		return err
	}

	tables := dynamodb.NewFromConfig(cfg)

	_, err = tables.UpdateTable(ctx, &dynamodb.UpdateTableInput{TableName: &name, DeletionProtectionEnabled: aws.Bool(false)})
	if err == nil {
		err = dynamodb.NewTableExistsWaiter(tables).Wait(ctx, &dynamodb.DescribeTableInput{TableName: &name}, c.wait)
	}

	if err == nil {
		_, err = tables.DeleteTable(ctx, &dynamodb.DeleteTableInput{TableName: &name})
	}

	if err != nil {
		return fmt.Errorf("table %s: %w", name, err)
	}

	return nil
}

// takeAway removes the stacks and what they have left, and notes what cannot be removed. An error does not end it.
func (c *check) takeAway(ctx context.Context) (err error) {
	fmt.Fprintf(c.out, "taking away what begins with %s\n", c.prefix)
	c.cost = c.costs(ctx)

	err = c.each(func(s stack) error { return c.removeStack(ctx, s) })

	for _, k := range kinds(c.prefix) {
		names, failed := c.named(ctx, k)
		err = errors.Join(err, failed)

		for _, name := range names {
			if k.remove != nil {
				err = errors.Join(err, k.remove(ctx, c, name))
			}
		}
	}

	return errors.Join(err, c.lookForRest(ctx))
}

// removeStack removes a stack and waits until it is gone. It is no error if there is no such stack.
func (c *check) removeStack(ctx context.Context, s stack) error {
	name := c.prefix + s.name
	if _, err := c.aws(ctx, "cloudformation", "delete-stack", "--stack-name", name); err != nil {
		return err
	}

	_, err := c.aws(ctx, "cloudformation", "wait", "stack-delete-complete", "--stack-name", name)

	return err
}

// named returns what is there of a kind and belongs to this check.
func (c *check) named(ctx context.Context, k kind) (names []string, err error) {
	all, err := k.list(ctx, c)
	for _, name := range all {
		if ours(c.prefix, name) {
			names = append(names, name)
		}
	}

	return names, err
}

// lookForRest notes what is still there.
func (c *check) lookForRest(ctx context.Context) (err error) {
	for _, k := range kinds(c.prefix) {
		names, failed := c.named(ctx, k)
		err = errors.Join(err, failed)

		for _, name := range names {
			c.left = append(c.left, k.name+" "+name)
		}
	}

	if len(c.left) > 0 {
		err = errors.Join(err, fmt.Errorf("left behind: %s; `go run ./internal/tools/awscheck -teardown %s` tries again", strings.Join(c.left, ", "), c.prefix))
	}

	return err
}
