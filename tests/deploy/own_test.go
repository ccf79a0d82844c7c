package deploy

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"

	"ratchet/server"
)

// givenTable is a table of another program in which orders stand beside other entities.
const givenTable = "shop-data"

// ownWorkflow is a program for whose workflow templates are written.
type ownWorkflow struct {
	parts, workflow string
	activities      []string
	undeclared      []string     // that the templates name
	declared        []permission // by steps
	partsDeclare    []permission // by the other parts
	settings        []string
	config          server.Config
}

var ownWorkflows = map[string]ownWorkflow{
	"ticket": {
		parts: "ticket", workflow: "ticket", activities: []string{"apply", "look", "place", "triage"},
		undeclared: []string{"the handler answer"},
		declared:   []permission{{"dynamodb:GetItem", "table/topics"}},
	},
	"mugs": {
		parts: "mugs", workflow: "mugs", activities: []string{"apply", "charge", "look", "place", "reserve"},
		undeclared:   []string{"the step reserve"},
		partsDeclare: []permission{{"dynamodb:PutItem", "table/letters"}},
		settings:     []string{"--requests-queue", prefix + "requests"},
		config:       server.Config{RequestsQueue: prefix + "requests"},
	},
	"a table that is there": {
		parts: shopParts, workflow: "order", activities: []string{"accept", "compensate", "look", "pay"},
		settings: []string{"--orders-table", givenTable, "--orders-key", "pk=ORDER#{id}", "--orders-sort", "sk=ORDER"},
		config:   server.Config{OrdersTable: server.OrdersTable{Name: givenTable, Key: "pk=ORDER#{id}", Sort: "sk=ORDER"}},
	},
}

// TestTemplatesOfAWorkflowOfYourOwn: what the templates of a program with a workflow of its own create is what
// `ratchet init` of that program creates, with its policies and alarms, and nothing of another workflow.
func TestTemplatesOfAWorkflowOfYourOwn(t *testing.T) {
	for name, own := range ownWorkflows {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			for _, kind := range []string{"cloudformation", "terraform"} {
				output, err := programOf(t, own.parts, append([]string{"deploy", kind, "--out", filepath.Join(dir, kind)}, own.settings...)...)
				if err != nil {
					t.Fatalf("%v: %s", err, output)
				}
			}

			c := func(file string) *template {
				return readTemplateIn(t, filepath.Join(dir, "cloudformation"), file, map[string]string{
					"Sandbox": "true", "StreamImage": "i", "RequestsImage": "i", "OrdersStreamArn": "arn:s", "Image": "i", "Cluster": "c", "Subnets": "s", "SecurityGroups": "g",
				})
			}
			m := readTerraformIn(t, filepath.Join(dir, "terraform"))

			own.wantsCore(t, c, m)
			own.wantsPolicies(t, c, m)
			own.wantsAlarms(t, c, m)
			own.wantsTexts(t, dir)

			wantsFormat(t, filepath.Join(dir, "terraform"))

			// Every reference of the other templates has its resource.
			for _, file := range []string{"service.yaml", "lambda.yaml"} {
				one := c(file)
				for _, resource := range one.resources {
					one.value(resource["Properties"])
				}
			}
		})
	}
}

// wantsCore compares what both templates create with what `ratchet init` creates.
func (own ownWorkflow) wantsCore(t *testing.T, c func(string) *template, m *terraform) {
	t.Helper()

	cfg := own.config
	cfg.Data = t.TempDir()

	parts, err := partsOf(own.parts)
	if err != nil {
		t.Fatal(err)
	}
	cfg.Parts = parts

	b := embed(t, cfg)
	if given := cfg.OrdersTable.Name; given != "" {
		createGiven(t, b, given)
	}

	if err := b.Init(t.Context()); err != nil {
		t.Fatal(err)
	}

	want := created(t, b)
	delete(want.Tables, givenTable)

	if want.Machine != prefix+own.workflow {
		t.Fatalf("the state machine of the program is %s", want.Machine)
	}

	fromCloudFormation, _ := coreOf(c("core.yaml"))
	fromTerraform, _ := m.core()

	for name, got := range map[string]resources{"CloudFormation": fromCloudFormation, "Terraform": fromTerraform} {
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (+) is not what `ratchet init` creates (-):\n%s", name, diff)
		}
	}

	var activities []string
	for _, name := range own.activities {
		activities = append(activities, prefix+name)
	}

	if !slices.Equal(fromCloudFormation.Activities, activities) {
		t.Errorf("activities %v, want %v", fromCloudFormation.Activities, activities)
	}
}

// createGiven creates a table of another program.
func createGiven(t *testing.T, b *server.Backend, name string) {
	t.Helper()

	key := func(attribute string, kind types.KeyType) types.KeySchemaElement {
		return types.KeySchemaElement{AttributeName: &attribute, KeyType: kind}
	}
	text := func(attribute string) types.AttributeDefinition {
		return types.AttributeDefinition{AttributeName: &attribute, AttributeType: types.ScalarAttributeTypeS}
	}

	_, err := b.DynamoDB.CreateTable(t.Context(), &dynamodb.CreateTableInput{
		TableName: &name, BillingMode: types.BillingModePayPerRequest,
		KeySchema:            []types.KeySchemaElement{key("pk", types.KeyTypeHash), key("sk", types.KeyTypeRange)},
		AttributeDefinitions: []types.AttributeDefinition{text("pk"), text("sk")},
		StreamSpecification:  &types.StreamSpecification{StreamEnabled: aws.Bool(true), StreamViewType: types.StreamViewTypeNewAndOldImages},
	})
	if err != nil {
		t.Fatal(err)
	}
}

// wantsPolicies wants the same policies of both templates, with the activities and the state machine of this program,
// and what its steps declare.
func (own ownWorkflow) wantsPolicies(t *testing.T, c func(string) *template, m *terraform) {
	t.Helper()

	fromCloudFormation, fromTerraform := map[string][]string{}, map[string][]string{}
	for _, properties := range c("access.yaml").ofType("AWS::IAM::ManagedPolicy") {
		fromCloudFormation[fmt.Sprint(properties["ManagedPolicyName"])] = pairs(decode[document](t, properties["PolicyDocument"]))
	}

	for _, content := range m.instances("aws_iam_policy", "part") {
		var policy document
		if err := json.Unmarshal([]byte(content["policy"].AsString()), &policy); err != nil {
			t.Fatal(err)
		}
		fromTerraform[content["name"].AsString()] = pairs(policy)
	}

	if diff := cmp.Diff(fromCloudFormation, fromTerraform); diff != "" {
		t.Errorf("policies of CloudFormation (-) and Terraform (+):\n%s", diff)
	}

	for policy, lines := range fromCloudFormation {
		for _, line := range lines {
			if name, of := cutLast(line, ":activity:"+prefix); of && !slices.Contains(own.activities, name) {
				t.Errorf("%s allows %s: the program has no such activity", policy, line)
			}

			if name, of := cutLast(line, ":stateMachine:"+prefix); of && name != own.workflow {
				t.Errorf("%s allows %s: the program has no such state machine", policy, line)
			}

			if name, of := cutLast(line, ":execution:"+prefix); of && name != own.workflow+":*" {
				t.Errorf("%s allows %s: the program has no such executions", policy, line)
			}
		}
	}

	for _, name := range own.activities {
		if want := "states:GetActivityTask arn:aws:states:" + region + ":" + account + ":activity:" + prefix + name; !slices.Contains(fromCloudFormation[prefix+"activities"], want) {
			t.Errorf("the policy of the activities lacks %s", want)
		}
	}

	for policy, declared := range map[string][]permission{"own": own.declared, "parts": own.partsDeclare} {
		for _, p := range declared {
			if want := p.action + " arn:aws:dynamodb:" + region + ":" + account + ":" + strings.Replace(p.resource, "/", "/"+prefix, 1); !slices.Contains(fromCloudFormation[prefix+policy], want) {
				t.Errorf("the policy %s lacks %s: %v", policy, want, fromCloudFormation[prefix+policy])
			}
		}
	}
	own.wantsOrders(t, slices.Concat(slices.Collect(maps.Values(fromCloudFormation))...))
}

// wantsOrders wants permissions on the table in which the orders are, and on no other table of orders.
func (own ownWorkflow) wantsOrders(t *testing.T, lines []string) {
	t.Helper()

	orders, other := ":table/"+prefix+"orders", ":table/"+givenTable
	if own.config.OrdersTable.Name != "" {
		orders, other = other, orders
	}

	has := func(table string) bool {
		return slices.ContainsFunc(lines, func(line string) bool { return strings.HasSuffix(line, table) && strings.Contains(line, "UpdateItem") })
	}
	if !has(orders) || has(other) {
		t.Errorf("updates are allowed on %s: %t, on %s: %t", orders, has(orders), other, has(other))
	}
}

func cutLast(line, separator string) (rest string, found bool) {
	_, rest, found = strings.Cut(line, separator)
	return rest, found
}

// pairs returns the actions and resources that a policy allows, sorted.
func pairs(d document) (all []string) {
	for _, s := range d.Statement {
		for _, action := range texts(s.Action) {
			for _, resource := range texts(s.Resource) {
				all = append(all, action+" "+resource)
			}
		}
	}
	slices.Sort(all)

	return all
}

// wantsAlarms wants two alarms for each activity, of both templates.
func (own ownWorkflow) wantsAlarms(t *testing.T, c func(string) *template, m *terraform) {
	t.Helper()

	var fromCloudFormation []string
	for _, properties := range c("alarms.yaml").ofType("AWS::CloudWatch::Alarm") {
		fromCloudFormation = append(fromCloudFormation, strings.TrimPrefix(fmt.Sprint(properties["AlarmName"]), prefix))
	}

	fromTerraform := slices.Sorted(maps.Keys(m.local["alarms"].AsValueMap()))
	if slices.Sort(fromCloudFormation); !slices.Equal(fromCloudFormation, fromTerraform) {
		t.Errorf("alarms %v of CloudFormation, %v of Terraform", fromCloudFormation, fromTerraform)
	}

	for _, name := range own.activities {
		for _, alarm := range []string{"activities-waiting-", "activities-not-started-"} {
			if !slices.Contains(fromCloudFormation, alarm+name) {
				t.Errorf("there is no alarm %s%s", alarm, name)
			}
		}
	}
}

// wantsTexts wants a place for what nothing declares, and the settings that a process needs.
func (own ownWorkflow) wantsTexts(t *testing.T, dir string) {
	t.Helper()

	for _, file := range []string{"cloudformation/access.yaml", "terraform/access.tf"} {
		text, err := os.ReadFile(filepath.Join(dir, file))
		if err != nil {
			t.Fatal(err)
		}

		_, place, has := strings.Cut(string(text), "Nothing declares what these call on AWS: ")
		place, _, _ = strings.Cut(place, ".\n")

		if want := strings.Join(own.undeclared, ", "); has != (want != "") || has && place != want {
			t.Errorf("%s has a place for %q, want %q", file, place, want)
		}
	}

	for _, file := range []string{"cloudformation/service.yaml", "terraform/service.tf"} {
		text, err := os.ReadFile(filepath.Join(dir, file))
		if err != nil {
			t.Fatal(err)
		}

		for i := 0; i+1 < len(own.settings); i += 2 {
			variable := "RATCHET_" + strings.ToUpper(strings.ReplaceAll(strings.TrimPrefix(own.settings[i], "--"), "-", "_"))
			if !strings.Contains(string(text), variable) {
				t.Errorf("%s does not set %s", file, variable)
			}
		}
	}
}
