package deploy

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/sfn"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/google/go-cmp/cmp"

	"ratchet/server"
	"ratchet/transitions"
	"ratchet/workflow"
)

var withSandbox = map[string]string{"Sandbox": "true"}

// coreOf returns what core.yaml creates, and the protection of its tables.
func coreOf(c *template) (resources, map[string]guarded) {
	r := resources{Tables: map[string]table{}, Queues: map[string]queue{}}
	protection := map[string]guarded{}
	t := c.t

	for _, properties := range c.ofType("AWS::DynamoDB::Table") {
		input := decode[dynamodb.CreateTableInput](t, properties)
		extra := decode[struct {
			TimeToLiveSpecification          struct{ AttributeName string }
			PointInTimeRecoverySpecification struct{ PointInTimeRecoveryEnabled bool }
			DeletionProtectionEnabled        bool
		}](t, properties)

		one := table{
			Keys:    keysOf(input.KeySchema, input.AttributeDefinitions),
			TTL:     extra.TimeToLiveSpecification.AttributeName,
			Billing: string(input.BillingMode),
		}
		for _, index := range input.GlobalSecondaryIndexes {
			one.Index = indexOf(aws.ToString(index.IndexName), keysOf(index.KeySchema, input.AttributeDefinitions), string(index.Projection.ProjectionType))
		}

		if input.StreamSpecification != nil {
			one.Stream = string(input.StreamSpecification.StreamViewType)
		}
		r.Tables[aws.ToString(input.TableName)] = one
		protection[aws.ToString(input.TableName)] = guarded{extra.PointInTimeRecoverySpecification.PointInTimeRecoveryEnabled, extra.DeletionProtectionEnabled}
	}

	for _, properties := range c.ofType("AWS::SQS::Queue") {
		q := queue{Retention: fmt.Sprint(properties["MessageRetentionPeriod"])}
		if policy, ok := properties["RedrivePolicy"]; ok {
			q.Redrive = mustJSON(t, policy)
		}
		r.Queues[fmt.Sprint(properties["QueueName"])] = q
	}

	for _, properties := range c.ofType("AWS::StepFunctions::Activity") {
		r.Activities = append(r.Activities, fmt.Sprint(properties["Name"]))
	}
	slices.Sort(r.Activities)

	for _, properties := range c.ofType("AWS::Serverless::StateMachine") {
		r.Machine = fmt.Sprint(properties["Name"])

		text, err := os.ReadFile(c.dir + "/" + fmt.Sprint(properties["DefinitionUri"]))
		if err != nil {
			t.Fatal(err)
		}

		r.Definition = string(text)
		for name, value := range decode[map[string]string](t, properties["DefinitionSubstitutions"]) {
			r.Definition = strings.ReplaceAll(r.Definition, "${"+name+"}", value)
		}
	}

	return r, protection
}

// initialized returns a backend on an engine on which `ratchet init` has run.
func initialized(t *testing.T) *server.Backend {
	t.Helper()

	b := embed(t, server.Config{Data: t.TempDir(), OrderLists: true, RequestsQueue: prefix + "requests"})
	if err := b.Init(t.Context()); err != nil {
		t.Fatal(err)
	}

	return b
}

// TestTheTemplatesCreateWhatInitCreates compares the tables, queues, activities and the state machine of
// both templates with the resources that the code creates, and wants every table protected.
func TestTheTemplatesCreateWhatInitCreates(t *testing.T) {
	want := created(t, initialized(t))

	for name, read := range map[string]func() (resources, map[string]guarded){
		"CloudFormation": func() (resources, map[string]guarded) { return coreOf(readTemplate(t, "core.yaml", withSandbox)) },
		"Terraform":      func() (resources, map[string]guarded) { return readTerraform(t).core() },
	} {
		t.Run(name, func(t *testing.T) {
			got, protection := read()
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("the template (+) is not what `ratchet init` creates (-):\n%s", diff)
			}

			for table := range want.Tables {
				if protection[table] != (guarded{true, true}) {
					t.Errorf("table %s: %+v", table, protection[table])
				}
			}
		})
	}
}

// TestAnOrderIsDeliveredOnTheTemplate creates what core.yaml has on an empty engine, and runs an order
// there. `ratchet init` never runs.
func TestAnOrderIsDeliveredOnTheTemplate(t *testing.T) {
	c := readTemplate(t, "core.yaml", withSandbox)

	b := embed(t, server.Config{Data: t.TempDir(), Notify: "none", CarrierDelay: 1, RequestsQueue: prefix + "requests"})
	r := &recordedBackend{Backend: b, t: t}
	build(t, c, b)

	r.goRun("engine", b.Engine.Run)
	r.goRun("worker", func(ctx context.Context) error { return b.Run(ctx, "worker") })
	r.goRun("carrier", b.RunCarrier)

	arn, err := b.StateMachineARN(t.Context())
	if err != nil {
		t.Fatal(err)
	}

	if err := b.Stock.Set(t.Context(), "mug", 1); err != nil {
		t.Fatal(err)
	}

	order := transitions.NewOrder{ID: "o-1", Items: []transitions.Item{{SKU: "mug", Quantity: 1, Price: 100}}, Total: transitions.Money{Amount: 100, Currency: "EUR"}}
	if _, err := b.Start(t.Context(), arn, order); err != nil {
		t.Fatal(err)
	}
	r.state("o-1", workflow.Delivered)
}

// build creates the template's resources.
func build(t *testing.T, c *template, b *server.Backend) {
	t.Helper()

	ctx := t.Context()
	for _, properties := range c.ofType("AWS::DynamoDB::Table") {
		input := decode[dynamodb.CreateTableInput](t, properties)
		if input.StreamSpecification != nil {
			input.StreamSpecification.StreamEnabled = aws.Bool(true) // CloudFormation has no member for it
		}

		if _, err := b.DynamoDB.CreateTable(ctx, &input); err != nil {
			t.Fatalf("%s: %v", aws.ToString(input.TableName), err)
		}

		if ttl, ok := properties["TimeToLiveSpecification"]; ok {
			spec := decode[types.TimeToLiveSpecification](t, ttl)
			if _, err := b.DynamoDB.UpdateTimeToLive(ctx, &dynamodb.UpdateTimeToLiveInput{TableName: input.TableName, TimeToLiveSpecification: &spec}); err != nil {
				t.Fatal(err)
			}
		}
	}

	r, _ := coreOf(c)
	for _, name := range r.Activities {
		if _, err := b.SFN.CreateActivity(ctx, &sfn.CreateActivityInput{Name: &name}); err != nil {
			t.Fatal(err)
		}
	}

	// The queue of the dead letters exists before the queue that names it.
	for _, name := range []string{prefix + "requests-dead-letters", prefix + "requests"} {
		attributes := map[string]string{"MessageRetentionPeriod": r.Queues[name].Retention}
		if redrive := r.Queues[name].Redrive; redrive != "" {
			attributes["RedrivePolicy"] = redrive
		}

		if _, err := b.SQS.CreateQueue(ctx, &sqs.CreateQueueInput{QueueName: &name, Attributes: attributes}); err != nil {
			t.Fatal(err)
		}
	}

	role := "arn:aws:iam::" + account + ":role/" + prefix + "state-machine"
	if _, err := b.SFN.CreateStateMachine(ctx, &sfn.CreateStateMachineInput{Name: &r.Machine, Definition: &r.Definition, RoleArn: &role}); err != nil {
		t.Fatal(err)
	}
}

// mustJSON sorts the members of objects, as encoding/json does with maps.
func mustJSON(t *testing.T, value any) string {
	t.Helper()

	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}

	return string(text)
}

// TestRestoredTablesAreLeftAlone: with Tables=false the template creates no table, and the state machine stores its waits in
// the one that is there.
func TestRestoredTablesAreLeftAlone(t *testing.T) {
	c := readTemplate(t, "core.yaml", map[string]string{"Tables": "false", "Sandbox": "true", "Prefix": "r1-"})

	if tables := c.ofType("AWS::DynamoDB::Table"); len(tables) > 0 {
		t.Errorf("%d tables", len(tables))
	}

	machine := mustJSON(t, c.ofType("AWS::Serverless::StateMachine")["StateMachine"]["DefinitionSubstitutions"])
	role := mustJSON(t, c.ofType("AWS::IAM::Role")["StateMachineRole"]["Policies"])

	if !strings.Contains(machine, `"r1-parked-tasks"`) || !strings.Contains(role, ":table/r1-parked-tasks") {
		t.Errorf("state machine %s, role %s", machine, role)
	}

	terraform := readText(t, filepath.Join(root, "terraform/main.tf"))
	if !strings.Contains(terraform, "if var.tables && (var.sandbox") {
		t.Error("main.tf creates tables whatever the variable tables says")
	}
}
