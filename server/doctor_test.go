package server_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/sfn"
	sfntypes "github.com/aws/aws-sdk-go-v2/service/sfn/types"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"ratchet/embedded/embeddedtest"
	"ratchet/internal/dynamo"
	"ratchet/once"
	"ratchet/once/actions"
	"ratchet/operate/doctor"
	"ratchet/server"
	"ratchet/transitions"
)

// patient is an installation on which a test breaks one thing.
type patient struct {
	*server.Backend

	t *testing.T
	// wire carries the doctor's calls.
	wire *embeddedtest.Transport
}

func newPatient(t *testing.T, edit ...func(*server.Config)) *patient {
	t.Helper()

	cfg := server.Config{Data: filepath.Join(t.TempDir(), "data"), Notify: "none", RequestsQueue: "requests"}
	for _, e := range edit {
		e(&cfg)
	}

	b := initialized(t, cfg)
	if _, err := b.Orders.Create(t.Context(), mug); err != nil {
		t.Fatal(err)
	}

	process, wire, err := b.Process()
	if err != nil {
		t.Fatal(err)
	}

	return &patient{Backend: process, t: t, wire: wire}
}

// must fails the test if a step that breaks something fails itself.
func (p *patient) must(err error) {
	p.t.Helper()

	if err != nil {
		p.t.Fatal(err)
	}
}

// recreate deletes a table and creates it with a change.
func (p *patient) recreate(table string, input *dynamodb.CreateTableInput, change func(*dynamodb.CreateTableInput)) {
	p.t.Helper()

	p.deleteTable(table)
	change(input)

	_, err := p.DynamoDB.CreateTable(p.t.Context(), input)
	p.must(err)
}

func (p *patient) deleteTable(name string) {
	p.t.Helper()

	_, err := p.DynamoDB.DeleteTable(p.t.Context(), &dynamodb.DeleteTableInput{TableName: &name})
	p.must(err)
}

func (p *patient) setTTL(table, attribute string, on bool) {
	p.t.Helper()

	_, err := p.DynamoDB.UpdateTimeToLive(p.t.Context(), &dynamodb.UpdateTimeToLiveInput{TableName: &table,
		TimeToLiveSpecification: &types.TimeToLiveSpecification{AttributeName: &attribute, Enabled: &on}})
	p.must(err)
}

func (p *patient) setStream(table string, s types.StreamSpecification) {
	p.t.Helper()

	_, err := p.DynamoDB.UpdateTable(p.t.Context(), &dynamodb.UpdateTableInput{TableName: &table, StreamSpecification: &s})
	p.must(err)
}

func (p *patient) machine() *sfn.DescribeStateMachineOutput {
	p.t.Helper()

	arn, err := p.StateMachineARN(p.t.Context())
	p.must(err)

	is, err := p.SFN.DescribeStateMachine(p.t.Context(), &sfn.DescribeStateMachineInput{StateMachineArn: &arn})
	p.must(err)

	return is
}

func (p *patient) deleteMachine() {
	p.t.Helper()

	_, err := p.SFN.DeleteStateMachine(p.t.Context(), &sfn.DeleteStateMachineInput{StateMachineArn: p.machine().StateMachineArn})
	p.must(err)
}

func (p *patient) setQueue(attribute, value string) {
	p.t.Helper()

	url, err := p.SQS.GetQueueUrl(p.t.Context(), &sqs.GetQueueUrlInput{QueueName: aws.String("requests")})
	p.must(err)
	_, err = p.SQS.SetQueueAttributes(p.t.Context(), &sqs.SetQueueAttributesInput{QueueUrl: url.QueueUrl, Attributes: map[string]string{attribute: value}})
	p.must(err)
}

func (p *patient) deleteQueue(name string) {
	p.t.Helper()

	url, err := p.SQS.GetQueueUrl(p.t.Context(), &sqs.GetQueueUrlInput{QueueName: &name})
	p.must(err)
	_, err = p.SQS.DeleteQueue(p.t.Context(), &sqs.DeleteQueueInput{QueueUrl: url.QueueUrl})
	p.must(err)
}

// shiftClock makes the services answer with a clock that is ahead.
func (p *patient) shiftClock(ahead time.Duration) {
	p.wire.Around(func(_ *embeddedtest.Call, send embeddedtest.Sender) (*http.Response, error) {
		response, err := send()
		if err == nil {
			response.Header.Set("Date", time.Now().Add(ahead).UTC().Format(http.TimeFormat))
		}

		return response, err
	})
}

// deny lets the services refuse operations, if a table is named only those on it.
func (p *patient) deny(table string, operations ...string) {
	denied := embeddedtest.Answer("AccessDeniedException", operations...)
	p.wire.Inject(denied.If(func(c *embeddedtest.Call) bool { return strings.Contains(string(c.Body()), table) }))
}

// addReader notes a group that reads the stream, as its workers do.
func (p *patient) addReader(name string) {
	p.t.Helper()

	out, err := p.DynamoDB.DescribeTable(p.t.Context(), &dynamodb.DescribeTableInput{TableName: &p.Tables.Orders})
	p.must(err)
	_, err = p.DynamoDB.PutItem(p.t.Context(), &dynamodb.PutItemInput{TableName: &p.Tables.Leases, Item: dynamo.Item{
		"stream": dynamo.S("groups/" + *out.Table.LatestStreamArn), "shardId": dynamo.S(name), "seenAt": dynamo.Millis(time.Now()),
	}})
	p.must(err)
}

// misconfigurations are planted one at a time. The doctor must find this and nothing else.
var misconfigurations = []struct {
	name    string
	plant   func(*patient)
	result  doctor.Result
	subject string
	found   string // a part of the finding
	action  string // a part of the advice
}{
	{"a table is missing", func(p *patient) { p.deleteTable(p.Tables.Actions) },
		doctor.Failure, "table ratchet-actions", "does not exist", "ratchet init"},
	{"a table has another key", func(p *patient) {
		p.recreate(p.Tables.APIKeys, dynamo.Table(p.Tables.APIKeys, dynamo.TextKey("id")), func(*dynamodb.CreateTableInput) {})
	}, doctor.Failure, "table ratchet-api-keys", "its key is id (S), not keyId (S)", "copy what you need"},
	{"a key has another type", func(p *patient) {
		p.recreate(p.Tables.Events, dynamo.Table(p.Tables.Events, dynamo.TextKey("orderId"), dynamo.NumberKey("entry")), func(*dynamodb.CreateTableInput) {})
	}, doctor.Failure, "table ratchet-order-events", "entry (N), not orderId (S), entry (S)", "copy what you need"},
	{"a table has provisioned capacity", func(p *patient) {
		p.recreate(p.Tables.Requests, transitions.RequestsTable(p.Tables.Requests), func(in *dynamodb.CreateTableInput) {
			in.BillingMode = types.BillingModeProvisioned
			in.ProvisionedThroughput = &types.ProvisionedThroughput{ReadCapacityUnits: aws.Int64(1), WriteCapacityUnits: aws.Int64(1)}
		})
	}, doctor.Warning, "table ratchet-order-requests", "provisioned", "PAY_PER_REQUEST"},
	{"the time to live is off", func(p *patient) { p.setTTL(p.Tables.Once, once.ExpiryAttribute, false) },
		doctor.Warning, "table ratchet-once", "time to live is off", "ratchet init"},
	{"the time to live has another attribute", func(p *patient) {
		p.setTTL(p.Tables.Actions, actions.ExpiryAttribute, false)
		p.setTTL(p.Tables.Actions, "createdAt", true)
	}, doctor.Failure, "table ratchet-actions", "uses the attribute createdAt, not forgetAt", "Enabled=false,AttributeName=createdAt"},
	{"a table whose items are kept has a time to live", func(p *patient) { p.setTTL(p.Tables.Orders, "updatedAt", true) },
		doctor.Failure, "table ratchet-orders", "deletes items by their attribute updatedAt", "Enabled=false"},
	{"the stream is off", func(p *patient) {
		p.setStream(p.Tables.Orders, types.StreamSpecification{StreamEnabled: aws.Bool(false)})
	},
		doctor.Failure, "table ratchet-orders", "its stream is off", "StreamViewType=NEW_AND_OLD_IMAGES"},
	{"the stream has another view", func(p *patient) {
		p.setStream(p.Tables.Orders, types.StreamSpecification{StreamEnabled: aws.Bool(false)})
		p.setStream(p.Tables.Orders, types.StreamSpecification{StreamEnabled: aws.Bool(true), StreamViewType: types.StreamViewTypeNewImage})
	}, doctor.Failure, "table ratchet-orders", "NEW_IMAGE, not NEW_AND_OLD_IMAGES", "streams rebuild"},
	{"an index is missing", func(p *patient) {
		_, err := p.DynamoDB.UpdateTable(p.t.Context(), &dynamodb.UpdateTableInput{TableName: &p.Tables.Deliveries,
			GlobalSecondaryIndexUpdates: []types.GlobalSecondaryIndexUpdate{{Delete: &types.DeleteGlobalSecondaryIndexAction{IndexName: aws.String("queue")}}}})
		p.must(err)
	}, doctor.Failure, "table ratchet-deliveries", "its index queue is missing", "global-secondary-index-updates"},
	{"the state machine is missing", func(p *patient) { p.deleteMachine() },
		doctor.Failure, "state machine ratchet-order", "does not exist", "ratchet init"},
	{"the state machine has another definition", func(p *patient) {
		is := p.machine()
		_, err := p.SFN.UpdateStateMachine(p.t.Context(), &sfn.UpdateStateMachineInput{StateMachineArn: is.StateMachineArn,
			Definition: aws.String(strings.Replace(*is.Definition, `"HeartbeatSeconds": `, `"HeartbeatSeconds": 1`, 1))})
		p.must(err)
	}, doctor.Failure, "state machine ratchet-order", "at /States/Accept/HeartbeatSeconds it has 1", "ratchet init"},
	{"the state machine has another type", func(p *patient) {
		p.deleteMachine()
		_, err := p.SFN.CreateStateMachine(p.t.Context(), &sfn.CreateStateMachineInput{Name: aws.String("ratchet-order"), RoleArn: aws.String("arn:aws:iam::000000000000:role/ratchet"),
			Type: sfntypes.StateMachineTypeExpress, Definition: aws.String(`{"StartAt":"End","States":{"End":{"Type":"Succeed"}}}`)})
		p.must(err)
	}, doctor.Failure, "state machine ratchet-order", "its type is EXPRESS", "delete-state-machine"},
	{"the state machine has another role", func(p *patient) { p.Config.RoleARN = "arn:aws:iam::123456789012:role/orders" },
		doctor.Failure, "state machine ratchet-order", "not the arn:aws:iam::123456789012:role/orders", "role-arn"},
	{"an activity is missing", func(p *patient) {
		arn := strings.Replace(*p.machine().StateMachineArn, "stateMachine:ratchet-order", "activity:ratchet-pay", 1)
		_, err := p.SFN.DeleteActivity(p.t.Context(), &sfn.DeleteActivityInput{ActivityArn: &arn})
		p.must(err)
	}, doctor.Failure, "activity ratchet-pay", "does not exist", "worker creates it"},
	{"the queue is missing", func(p *patient) { p.deleteQueue("requests") },
		doctor.Failure, "queue requests", "does not exist", "ratchet init"},
	{"the queue has no redrive policy", func(p *patient) { p.setQueue("RedrivePolicy", "") },
		doctor.Failure, "queue requests", "no redrive policy", "deadLetterTargetArn"},
	{"the queue of the dead letters is missing", func(p *patient) { p.deleteQueue("requests-dead-letters") },
		doctor.Failure, "queue requests", "requests-dead-letters, which does not exist", "create that queue"},
	{"the queue moves messages away after a few receives", func(p *patient) {
		p.setQueue("RedrivePolicy", `{"deadLetterTargetArn":"arn:aws:sqs:us-east-1:000000000000:requests-dead-letters","maxReceiveCount":3}`)
	}, doctor.Warning, "queue requests", "after 3 receives", "maxReceiveCount"},
	{"the visibility timeout is short", func(p *patient) { p.setQueue("VisibilityTimeout", "5") },
		doctor.Warning, "queue requests", "VisibilityTimeout is 5s", "at least 30"},
	{"the clock is ten minutes off", func(p *patient) { p.shiftClock(10*time.Minute + 30*time.Second) },
		doctor.Failure, "clock", "by 10m", "time server"},
	{"the clock is a minute off", func(p *patient) { p.shiftClock(-90 * time.Second) },
		doctor.Warning, "clock", "by 1m3", "time server"},
	{"a write is not allowed", func(p *patient) { p.deny(p.Tables.Payments+`"`, "dynamodb.PutItem") },
		doctor.Failure, "table ratchet-payments", "not allowed: dynamodb:PutItem", "policy"},
	{"a read is not allowed", func(p *patient) { p.deny(p.Tables.PaymentsDue, "dynamodb.Query") },
		doctor.Failure, "table ratchet-payments-due", "not allowed: dynamodb:Query", "policy"},
	{"acts may not be written down", func(p *patient) { p.deny(p.Tables.Audit+`"`, "dynamodb.UpdateItem") },
		doctor.Failure, "table ratchet-audit", "not allowed: dynamodb:UpdateItem", "policy"},
	{"heartbeats may not be read", func(p *patient) { p.deny(p.Tables.Processes+`"`, "dynamodb.Query") },
		doctor.Failure, "table ratchet-processes", "not allowed: dynamodb:Query", "policy"},
	{"tasks may not be answered", func(p *patient) { p.deny("", "SendTaskSuccess") },
		doctor.Failure, "state machine ratchet-order", "not allowed: states:SendTaskSuccess", "policy"},
	{"the stream may not be read", func(p *patient) { p.deny("", "GetRecords") },
		doctor.Failure, "stream of ratchet-orders", "not allowed: dynamodb:GetRecords", "policy"},
	{"messages may not be deleted", func(p *patient) { p.deny("", "DeleteMessage") },
		doctor.Failure, "queue requests", "not allowed: sqs:DeleteMessage", "policy"},
	{"a table may not be described", func(p *patient) { p.deny(p.Tables.Once+`"`, "DescribeTable") },
		doctor.Unchecked, "table ratchet-once", "dynamodb:DescribeTable: AccessDenied", "allow"},
	{"a third group reads the stream", func(p *patient) { p.addReader("#default"); p.addReader("reports"); p.addReader("search") },
		doctor.Failure, "readers of ratchet-orders", "3 groups", "stop the workers of a group"},
	{"the prefix is another one", func(p *patient) {
		for _, name := range []string{"DescribeTable"} {
			p.wire.Inject(embeddedtest.Answer("ResourceNotFoundException", name))
		}
	}, doctor.Failure, "tables", "none of the ", "prefix"},
	{"an order is of a version that nobody moves", func(p *patient) {
		_, err := p.DynamoDB.UpdateItem(p.t.Context(), &dynamodb.UpdateItemInput{TableName: &p.Tables.Orders, Key: dynamo.Item{"orderId": dynamo.S(string(mug.ID))},
			UpdateExpression: aws.String("SET definitionVersion = :v"), ExpressionAttributeValues: dynamo.Item{":v": dynamo.N(77)}})
		p.must(err)
	}, doctor.Failure, "orders", "77", "workflow migrate"},
	{"another program has given an order a state that the definition does not have", func(p *patient) {
		_, err := p.DynamoDB.PutItem(p.t.Context(), &dynamodb.PutItemInput{TableName: &p.Tables.Orders, Item: dynamo.Item{
			"orderId": dynamo.S("old-1"), "orderState": dynamo.S("ARCHIVED"),
		}})
		p.must(err)
	}, doctor.Failure, "orders", "order old-1 is ARCHIVED, which version", "orders import --table --dry-run"},
	{"the carrier's reports are refused", func(p *patient) { p.Config.Carrier = "https://carrier.example" },
		doctor.Warning, "settings", "carrier-secret is not set", "set carrier-secret"},
	{"a lag beyond the retention counts as ready", func(p *patient) { p.Config.ReadyLag = 30 * time.Hour },
		doctor.Warning, "settings", "ready-lag is 30h0m0s", "set ready-lag"},
}

// problems returns the checks that are not ok.
func problems(checks []doctor.Check) []doctor.Check {
	return slices.DeleteFunc(slices.Clone(checks), func(c doctor.Check) bool { return c.Result == doctor.OK })
}

func TestTheDoctorFindsNothingOnAHealthyInstallation(t *testing.T) {
	p := newPatient(t)
	p.addReader("#default")
	p.shiftClock(0)

	checks := p.Examine(t.Context())
	if found := problems(checks); len(found) > 0 {
		t.Errorf("found %+v", found)
	}

	for _, c := range checks {
		if strings.HasSuffix(c.Found, "allowed: ") {
			t.Errorf("%s: no permission was tried", c.Subject)
		}
	}

	if n := doctor.Count(checks, doctor.OK); n < 25 {
		t.Errorf("only %d checks: %+v", n, checks)
	}
}

func TestTheDoctorFindsEachMisconfigurationAndNothingElse(t *testing.T) {
	for i, m := range misconfigurations {
		if testing.Short() && i%12 > 0 {
			continue
		}

		t.Run(m.name, func(t *testing.T) {
			t.Parallel()

			p := newPatient(t)
			m.plant(p)

			found := problems(p.Examine(t.Context()))
			if len(found) != 1 {
				t.Fatalf("found %+v", found)
			}

			c := found[0]
			if c.Result != m.result || c.Subject != m.subject || !strings.Contains(c.Found, m.found) || !strings.Contains(c.Action, m.action) {
				t.Errorf("found %+v", c)
			}
		})
	}
}

// TestTheDoctorWritesNothing compares the tables before and after.
func TestTheDoctorWritesNothing(t *testing.T) {
	p := newPatient(t)

	count := func() string {
		var counts strings.Builder
		tables, err := p.DynamoDB.ListTables(t.Context(), &dynamodb.ListTablesInput{})
		p.must(err)

		for _, name := range tables.TableNames {
			out, err := p.DynamoDB.Scan(t.Context(), &dynamodb.ScanInput{TableName: &name})
			p.must(err)
			fmt.Fprintf(&counts, "%s %v\n", name, len(out.Items))
		}

		return counts.String()
	}

	before := count()
	p.Examine(t.Context())

	if after := count(); after != before {
		t.Errorf("before:\n%safter:\n%s", before, after)
	}
}

// remote opens a backend behind an endpoint.
func remote(t *testing.T, url string) *server.Backend {
	t.Helper()

	b, err := server.Connect(t.Context(), server.Config{EndpointURL: url, Notify: "none", RequestsQueue: "requests",
		Data: t.TempDir(), Bank: server.Sandbox, Carrier: server.Sandbox}, embeddedtest.Quiet(), server.Events{})
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() { _ = b.Close() })

	return b
}

// awsEnv sets the environment of the SDK, with a configuration file that has this text.
func awsEnv(t *testing.T, text string) {
	t.Helper()

	for _, name := range []string{"AWS_PROFILE", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_REGION", "AWS_ENDPOINT_URL"} {
		t.Setenv(name, "")
	}

	file := filepath.Join(t.TempDir(), "config")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}

	t.Setenv("AWS_CONFIG_FILE", file)
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", file+"-none")
	t.Setenv("AWS_EC2_METADATA_DISABLED", "true")
}

func TestTheDoctorBehindAnEndpoint(t *testing.T) {
	p := newPatient(t)

	engine := httptest.NewServer(p.Engine.Handler())
	t.Cleanup(engine.Close)

	closed := httptest.NewServer(http.NotFoundHandler())
	closed.Close()

	t.Run("it is healthy", func(t *testing.T) {
		awsEnv(t, "")

		checks := remote(t, engine.URL).Examine(t.Context())
		if found := problems(checks); len(found) > 0 {
			t.Errorf("found %+v", found)
		}

		if !slices.ContainsFunc(checks, func(c doctor.Check) bool { return c.Subject == "SQS" && c.Found == engine.URL }) {
			t.Errorf("the endpoint of SQS is missing in %+v", checks)
		}
	})

	for _, c := range []struct {
		name          string
		prepare       func(*testing.T) string // returns the endpoint
		result        doctor.Result
		subject       string
		found, action string
	}{
		{"there are no credentials", func(t *testing.T) string {
			awsEnv(t, "[profile empty]\nregion = us-east-1\n")
			t.Setenv("AWS_PROFILE", "empty")

			return engine.URL
		}, doctor.Failure, "credentials", "there are none", "AWS_PROFILE"},
		{"nothing answers", func(t *testing.T) string {
			awsEnv(t, "")
			return closed.URL
		}, doctor.Failure, "DynamoDB", "does not answer", "endpoint-url"},
		{"one service has another endpoint that does not answer", func(t *testing.T) string {
			awsEnv(t, "")
			t.Setenv("AWS_REGION", "us-east-1")
			t.Setenv("AWS_ACCESS_KEY_ID", "key")
			t.Setenv("AWS_SECRET_ACCESS_KEY", "secret")
			t.Setenv("AWS_ENDPOINT_URL", engine.URL)
			t.Setenv("AWS_ENDPOINT_URL_SQS", closed.URL)

			return ""
		}, doctor.Failure, "SQS", closed.URL + " does not answer", "AWS_ENDPOINT_URL"},
	} {
		t.Run(c.name, func(t *testing.T) {
			found := problems(remote(t, c.prepare(t)).Examine(t.Context()))

			failures := slices.DeleteFunc(slices.Clone(found), func(c doctor.Check) bool { return c.Result == doctor.Unchecked })
			if len(failures) != 1 {
				t.Fatalf("found %+v", found)
			}

			if f := failures[0]; f.Result != c.result || f.Subject != c.subject || !strings.Contains(f.Found, c.found) || !strings.Contains(f.Action, c.action) {
				t.Errorf("found %+v", f)
			}
		})
	}
}

// TestAWorkerSaysThatTheStateMachineIsAnother starts one beside a state machine that was changed.
func TestAWorkerSaysThatTheStateMachineIsAnother(t *testing.T) {
	p := newPatient(t)

	if text := startLog(t, p); strings.Contains(text, "not that of this program") {
		t.Errorf("an equal state machine: %s", text)
	}

	is := p.machine()
	_, err := p.SFN.UpdateStateMachine(t.Context(), &sfn.UpdateStateMachineInput{StateMachineArn: is.StateMachineArn,
		Definition: aws.String(strings.Replace(*is.Definition, `"HeartbeatSeconds": `, `"HeartbeatSeconds": 1`, 1))})
	p.must(err)

	if text := startLog(t, p); !strings.Contains(text, "not that of this program") || !strings.Contains(text, "/States/Accept/HeartbeatSeconds") {
		t.Errorf("another state machine: %s", text)
	}
}

// startLog starts a worker, stops it when it creates its first activity, and returns its log.
func startLog(t *testing.T, p *patient) string {
	t.Helper()

	ctx, stop := context.WithCancel(t.Context())
	defer stop()

	engine := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.Header.Get("X-Amz-Target"), ".CreateActivity") {
			stop()
		}
		p.Engine.Handler().ServeHTTP(w, r)
	}))
	defer engine.Close()

	cfg := p.Config
	cfg.EndpointURL = engine.URL

	var log bytes.Buffer

	b, err := server.Connect(ctx, cfg, slog.New(slog.NewTextHandler(&log, nil)), server.Events{})
	p.must(err)
	defer b.Close()

	p.must(b.Run(ctx, "worker"))

	return log.String()
}
