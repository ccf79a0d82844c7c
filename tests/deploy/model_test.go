package deploy

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/sfn"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	sqstypes "github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"ratchet/server"
)

// The account and the Region of the engine; the templates are read for them.
const (
	account = "000000000000"
	region  = "us-east-1"
)

// resources are what a template creates, or `ratchet init`.
type resources struct {
	Tables     map[string]table
	Queues     map[string]queue
	Activities []string
	// Machine is the name of the state machine, Definition its text.
	Machine, Definition string
}

type table struct {
	Keys    string // as "orderId:S,delivery:S"
	Index   string // as "queue(queue:S,due:N) ALL"
	TTL     string // the attribute, empty for none
	Stream  string // the view type, empty for none
	Billing string
}

type queue struct{ Retention, Redrive string }

// guarded is a table with what only the templates have.
type guarded struct{ PointInTime, DeletionProtection bool }

// created returns what `ratchet init` has created.
func created(t *testing.T, b *server.Backend) resources {
	t.Helper()

	ctx := t.Context()
	r := resources{Tables: map[string]table{}, Queues: map[string]queue{}, Machine: prefix + b.Orders.Definition().Name()}

	names, err := b.DynamoDB.ListTables(ctx, &dynamodb.ListTablesInput{})
	if err != nil {
		t.Fatal(err)
	}

	for _, name := range names.TableNames {
		described, err := b.DynamoDB.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: &name})
		if err != nil {
			t.Fatal(err)
		}

		ttl, err := b.DynamoDB.DescribeTimeToLive(ctx, &dynamodb.DescribeTimeToLiveInput{TableName: &name})
		if err != nil {
			t.Fatal(err)
		}

		d := described.Table
		one := table{Keys: keysOf(d.KeySchema, d.AttributeDefinitions), Billing: string(d.BillingModeSummary.BillingMode)}
		for _, index := range d.GlobalSecondaryIndexes {
			one.Index = indexOf(aws.ToString(index.IndexName), keysOf(index.KeySchema, d.AttributeDefinitions), string(index.Projection.ProjectionType))
		}

		if ttl.TimeToLiveDescription.TimeToLiveStatus == types.TimeToLiveStatusEnabled {
			one.TTL = aws.ToString(ttl.TimeToLiveDescription.AttributeName)
		}

		if d.StreamSpecification != nil {
			one.Stream = string(d.StreamSpecification.StreamViewType)
		}
		r.Tables[name] = one
	}

	activities, err := b.SFN.ListActivities(ctx, &sfn.ListActivitiesInput{})
	if err != nil {
		t.Fatal(err)
	}

	for _, a := range activities.Activities {
		r.Activities = append(r.Activities, aws.ToString(a.Name))
	}
	slices.Sort(r.Activities)

	arn, err := b.StateMachineARN(ctx)
	if err != nil {
		t.Fatal(err)
	}

	machine, err := b.SFN.DescribeStateMachine(ctx, &sfn.DescribeStateMachineInput{StateMachineArn: &arn})
	if err != nil {
		t.Fatal(err)
	}
	r.Definition = aws.ToString(machine.Definition)

	if b.Config.RequestsQueue != "" {
		for _, name := range []string{prefix + "requests", prefix + "requests-dead-letters"} {
			r.Queues[name] = createdQueue(t, b, name)
		}
	}

	return r
}

func createdQueue(t *testing.T, b *server.Backend, name string) queue {
	t.Helper()

	url, err := b.SQS.GetQueueUrl(t.Context(), &sqs.GetQueueUrlInput{QueueName: &name})
	if err != nil {
		t.Fatal(err)
	}

	got, err := b.SQS.GetQueueAttributes(t.Context(), &sqs.GetQueueAttributesInput{
		QueueUrl:       url.QueueUrl,
		AttributeNames: []sqstypes.QueueAttributeName{sqstypes.QueueAttributeNameAll},
	})
	if err != nil {
		t.Fatal(err)
	}

	return queue{Retention: got.Attributes["MessageRetentionPeriod"], Redrive: canonical(t, got.Attributes["RedrivePolicy"])}
}

// canonical sorts the members of a JSON text.
func canonical(t *testing.T, text string) string {
	t.Helper()

	if text == "" {
		return ""
	}

	var value any
	if err := json.Unmarshal([]byte(text), &value); err != nil {
		t.Fatal(err)
	}

	return mustJSON(t, value)
}

func keysOf(schema []types.KeySchemaElement, definitions []types.AttributeDefinition) string {
	kinds := map[string]string{}
	for _, d := range definitions {
		kinds[aws.ToString(d.AttributeName)] = string(d.AttributeType)
	}

	keys := make([]string, len(schema))
	for i, k := range schema {
		keys[i] = aws.ToString(k.AttributeName) + ":" + kinds[aws.ToString(k.AttributeName)]
	}

	return strings.Join(keys, ",")
}

func indexOf(name, keys, projection string) string {
	return fmt.Sprintf("%s(%s) %s", name, keys, projection)
}

// statement is one of a policy.
type statement struct {
	Effect           string
	Action, Resource any // a text, or a list of them
	Principal        any
	Condition        any
}

type document struct{ Statement []statement }

// permissionsIn returns what a policy allows, with resources as deploy/permissions names them.
func (d document) permissionsIn(t *testing.T) map[permission]bool {
	t.Helper()

	all := map[permission]bool{}
	for _, s := range d.Statement {
		if s.Effect != "Allow" {
			t.Errorf("a statement has the effect %q", s.Effect)
		}

		for _, action := range texts(s.Action) {
			for _, resource := range texts(s.Resource) {
				p := permission{action, shortName(t, resource)}
				if all[p] {
					t.Errorf("%s is allowed twice", p)
				}
				all[p] = true
			}
		}
	}

	return all
}

func texts(value any) []string {
	switch v := value.(type) {
	case string:
		return []string{v}
	case []any:
		all := make([]string, len(v))
		for i, one := range v {
			all[i], _ = one.(string)
		}

		return all
	}

	return nil
}

// shortName turns an ARN into the name of a resource in deploy/permissions.
func shortName(t *testing.T, arn string) string {
	t.Helper()

	if arn == "*" {
		return arn
	}

	for start, short := range map[string]string{
		"arn:aws:dynamodb:" + region + ":" + account + ":table/" + prefix:      "table/",
		"arn:aws:iam::" + account + ":role/" + prefix:                          "role/",
		"arn:aws:iam::" + account + ":policy/" + prefix:                        "policy/",
		"arn:aws:sns:" + region + ":" + account + ":" + prefix:                 "topic/",
		"arn:aws:events:" + region + ":" + account + ":rule/" + prefix:         "rule/",
		"arn:aws:lambda:" + region + ":" + account + ":function:" + prefix:     "function/",
		"arn:aws:sqs:" + region + ":" + account + ":" + prefix:                 "queue/",
		"arn:aws:states:" + region + ":" + account + ":activity:" + prefix:     "activity/",
		"arn:aws:states:" + region + ":" + account + ":stateMachine:" + prefix: "stateMachine/",
		"arn:aws:states:" + region + ":" + account + ":execution:" + prefix:    "execution/",
	} {
		if rest, ok := strings.CutPrefix(arn, start); ok {
			return short + strings.ReplaceAll(rest, ":", "/")
		}
	}

	t.Errorf("%s is no resource of Ratchet", arn)

	return arn
}

// comparePermissions reports the differences between a template's policy and deploy/permissions.
func comparePermissions(t *testing.T, part string, allowed map[permission]bool) {
	t.Helper()

	all, _ := granted(t, part)
	want := map[permission]bool{}
	for _, p := range all {
		want[p] = true
	}

	for _, p := range slices.SortedFunc(maps.Keys(allowed), byText) {
		if !want[p] {
			t.Errorf("the policy %s allows %s, which is not in deploy/permissions", part, p)
		}
	}

	for _, p := range slices.SortedFunc(maps.Keys(want), byText) {
		if !allowed[p] {
			t.Errorf("the policy %s lacks %s", part, p)
		}
	}
}

func byText(a, b permission) int { return strings.Compare(a.String(), b.String()) }
