package deploy

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/credentials"

	"ratchet/operate/doctor"
	"ratchet/operate/doctor/stack"
)

// cloud answers STS, Step Functions and the Cloud Control API on the wire, as their references have it.
type cloud struct {
	// role is the state machine's.
	role string
	// resources are the properties of what is deployed, by type and identifier.
	resources map[string]map[string]any
	// faults are codes of errors by type, or by "" for every call.
	faults map[string]string

	mu    sync.Mutex
	asked int
}

func (c *cloud) Do(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}

	w := httptest.NewRecorder()
	_, operation, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
	arn := "arn:aws:states:" + region + ":" + account + ":stateMachine:" + prefix + "order"

	switch {
	case strings.HasPrefix(r.URL.Host, "sts."):
		fmt.Fprintf(w, `<GetCallerIdentityResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><GetCallerIdentityResult><Arn>arn:aws:sts::%s:assumed-role/ann/s</Arn></GetCallerIdentityResult></GetCallerIdentityResponse>`, account)
	case operation == "GetResource":
		c.get(w, body)
	case operation == "ListResources":
		c.list(w, body)
	case operation == "ListStateMachines":
		fmt.Fprintf(w, `{"stateMachines":[{"name":%q,"stateMachineArn":%q,"type":"STANDARD","creationDate":1}]}`, prefix+"order", arn)
	case operation == "DescribeStateMachine":
		fmt.Fprintf(w, `{"name":%q,"stateMachineArn":%q,"type":"STANDARD","creationDate":1,"definition":"{}","roleArn":%q}`, prefix+"order", arn, c.role)
	default:
		w.WriteHeader(http.StatusBadRequest)
		_, _ = io.WriteString(w, `{"__type":"AccessDeniedException","message":"no"}`)
	}

	return w.Result(), nil
}

// get answers GetResource: https://docs.aws.amazon.com/cloudcontrolapi/latest/APIReference/API_GetResource.html.
func (c *cloud) get(w *httptest.ResponseRecorder, body []byte) {
	var in struct{ TypeName, Identifier string }
	if err := json.Unmarshal(body, &in); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}

	c.mu.Lock()
	c.asked++
	c.mu.Unlock()

	w.Header().Set("Content-Type", "application/x-amz-json-1.0")
	fail := func(code, message string) {
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprintf(w, `{"__type":"com.amazon.cloudapiservice#%s","Message":%q}`, code, message)
	}

	for _, kind := range []string{"", in.TypeName} {
		if code := c.faults[kind]; code != "" {
			fail(code, "User is not authorized to perform: iam:GetRole")
			return
		}
	}

	properties, is := c.resources[in.TypeName+" "+in.Identifier]
	if !is {
		fail("ResourceNotFoundException", "Resource of type '"+in.TypeName+"' with identifier '"+in.Identifier+"' was not found.")
		return
	}

	text, err := json.Marshal(properties)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}

	_ = json.NewEncoder(w).Encode(map[string]any{"TypeName": in.TypeName, "ResourceDescription": map[string]string{"Identifier": in.Identifier, "Properties": string(text)}})
}

// list answers ListResources, one resource a page:
// https://docs.aws.amazon.com/cloudcontrolapi/latest/APIReference/API_ListResources.html.
func (c *cloud) list(w *httptest.ResponseRecorder, body []byte) {
	var in struct{ TypeName, NextToken string }
	if err := json.Unmarshal(body, &in); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}

	if code := c.faults["list "+in.TypeName]; code != "" {
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprintf(w, `{"__type":"com.amazon.cloudapiservice#%s","Message":"User is not authorized to perform: ecs:ListClusters"}`, code)

		return
	}

	var identifiers []string
	for _, id := range slices.Sorted(maps.Keys(c.resources)) {
		if identifier, is := strings.CutPrefix(id, in.TypeName+" "); is {
			identifiers = append(identifiers, identifier)
		}
	}

	answer := map[string]any{"TypeName": in.TypeName}
	at, _ := strconv.Atoi(in.NextToken)

	if at < len(identifiers) {
		answer["ResourceDescriptions"] = []map[string]string{{"Identifier": identifiers[at], "Properties": "{}"}}
	}

	if at+1 < len(identifiers) {
		answer["NextToken"] = strconv.Itoa(at + 1)
	}

	w.Header().Set("Content-Type", "application/x-amz-json-1.0")
	_ = json.NewEncoder(w).Encode(answer)
}

// ofAccount are ARNs of resources that the reader of the tests leaves as references.
func ofAccount(text, suffix string) string {
	iam := "arn:aws:iam::" + account + ":policy/" + prefix
	text = regexp.MustCompile(`"ref:(\w+)Policy"`).ReplaceAllStringFunc(text, func(match string) string {
		return `"` + iam + strings.ToLower(strings.TrimSuffix(strings.TrimPrefix(match, `"ref:`), `Policy"`)) + suffix + `"`
	})

	return strings.NewReplacer(
		`"ref:AlarmTopic"`, `"arn:aws:sns:`+region+`:`+account+`:`+prefix+`alarms"`,
		`"ref:AlarmKey"`, `"0f8fad5b-d9cb-469f-a165-70867728950e"`,
		`"att:RequestsDeadLetterQueue.Arn"`, `"arn:aws:sqs:`+region+`:`+account+`:`+prefix+`requests-dead-letters"`,
	).Replace(text)
}

// deployed returns what the templates of the shop create, read by the tests' own reader, as the Cloud Control API answers
// it: with the members that AWS adds, and statements in an order of its own.
func deployed(t *testing.T, suffix string, files ...string) map[string]map[string]any {
	t.Helper()

	all := map[string]map[string]any{}

	for _, file := range files {
		c := readTemplate(t, file, map[string]string{"Prefix": prefix, "NameSuffix": suffix})
		for kind, as := range map[string]func(map[string]any) (identifier string){
			"AWS::IAM::ManagedPolicy": func(p map[string]any) string {
				p["Path"], p["Roles"], p["PolicyId"] = "/", []string{"someone"}, "ANPA1"
				return "arn:aws:iam::" + account + ":policy/" + fmt.Sprint(p["ManagedPolicyName"])
			},
			"AWS::IAM::Role": func(p map[string]any) string {
				p["Path"], p["MaxSessionDuration"], p["RoleId"] = "/", 3600, "AROA1"
				return fmt.Sprint(p["RoleName"])
			},
			"AWS::SNS::Topic": func(p map[string]any) string {
				p["Subscription"] = []map[string]string{{"Endpoint": "ops@example.org", "Protocol": "email"}}
				p["TopicArn"] = "arn:aws:sns:" + region + ":" + account + ":" + fmt.Sprint(p["TopicName"])
				return fmt.Sprint(p["TopicArn"])
			},
			"AWS::SNS::TopicPolicy": func(p map[string]any) string {
				p["TopicArn"] = "arn:aws:sns:" + region + ":" + account + ":" + prefix + "alarms"
				delete(p, "Topics")
				return fmt.Sprint(p["TopicArn"])
			},
			"AWS::Events::Rule": func(p map[string]any) string {
				p["State"], p["EventBusName"] = "ENABLED", "default"
				return "arn:aws:events:" + region + ":" + account + ":rule/" + fmt.Sprint(p["Name"])
			},
			"AWS::SQS::Queue": func(p map[string]any) string {
				p["DelaySeconds"], p["VisibilityTimeout"] = 0, 30
				return "https://sqs." + region + ".amazonaws.com/" + account + "/" + fmt.Sprint(p["QueueName"])
			},
			"AWS::Logs::LogGroup":   func(p map[string]any) string { return fmt.Sprint(p["LogGroupName"]) },
			"AWS::Lambda::Function": func(p map[string]any) string { delete(p, "Code"); return fmt.Sprint(p["FunctionName"]) },
		} {
			for _, properties := range c.ofType(kind) {
				properties = decode[map[string]any](t, json.RawMessage(ofAccount(mustJSON(t, properties), suffix)))
				if kind == "AWS::IAM::ManagedPolicy" && properties["ManagedPolicyName"] == nil {
					continue // AWS makes its name
				}

				if policy, is := properties["PolicyDocument"].(map[string]any); is {
					slices.Reverse(policy["Statement"].([]any))
				}

				name := kind
				if kind == "AWS::SNS::TopicPolicy" {
					name = "AWS::SNS::TopicInlinePolicy"
				}
				identifier := as(properties)
				all[name+" "+identifier] = properties
			}
		}
	}

	return all
}

// examined returns the checks of the templates' resources in an account.
func examined(t *testing.T, c *cloud) (found []doctor.Check) {
	t.Helper()

	files := map[string][]byte{}
	for name, text := range filesIn(t, filepath.Join(root, "cloudformation")) {
		if strings.HasSuffix(name, ".yaml") {
			files[name] = []byte(text)
		}
	}

	checks := doctor.Examine(t.Context(), doctor.Config{
		AWS: aws.Config{Region: region, Credentials: credentials.NewStaticCredentialsProvider("key", "secret", ""), HTTPClient: c,
			Retryer: func() aws.Retryer {
				return retry.NewStandard(func(o *retry.StandardOptions) {
					o.Backoff = retry.BackoffDelayerFunc(func(int, error) (time.Duration, error) { return 0, nil })
				})
			}},
		Machine:   &doctor.Machine{Name: prefix + "order", AWS: true, Definition: func(map[string]string) string { return "{}" }},
		Templates: &doctor.Templates{Files: files, Prefix: prefix, StateMachineRole: "state-machine"},
	})

	after := slices.IndexFunc(checks, func(c doctor.Check) bool {
		return c.Subject == "activities" || strings.HasPrefix(c.Subject, "activity ")
	})

	return slices.DeleteFunc(checks[after+1:], func(c doctor.Check) bool { return c.Subject == "permissions" })
}

// TestTheDoctorComparesWhatIsDeployed: roles, policies, the topic, the rule and the queues are held against the
// templates. Each change is named, what could not be read is said, and nothing else is found.
func TestTheDoctorComparesWhatIsDeployed(t *testing.T) {
	const (
		worker     = "AWS::IAM::Role " + prefix + "worker"
		machine    = "AWS::IAM::Role " + prefix + "state-machine"
		activities = "AWS::IAM::ManagedPolicy arn:aws:iam::" + account + ":policy/" + prefix + "activities"
		topic      = "AWS::SNS::Topic arn:aws:sns:" + region + ":" + account + ":" + prefix + "alarms"
		inline     = "AWS::SNS::TopicInlinePolicy arn:aws:sns:" + region + ":" + account + ":" + prefix + "alarms"
		rule       = "AWS::Events::Rule arn:aws:events:" + region + ":" + account + ":rule/" + prefix + "executions"
		requests   = "AWS::SQS::Queue https://sqs." + region + ".amazonaws.com/" + account + "/" + prefix + "requests"
	)

	statements := func(p map[string]any, property string) []any {
		return p[property].(map[string]any)["Statement"].([]any)
	}
	set := func(id, property string, v any) func(map[string]map[string]any) {
		return func(all map[string]map[string]any) { all[id][property] = v }
	}

	asWritten := mustJSON(t, deployed(t, "", "access.yaml", "alarms.yaml", "core.yaml"))

	for _, c := range []struct {
		name           string
		change         func(map[string]map[string]any)
		faults         map[string]string
		result         doctor.Result
		subject, found string
	}{
		{"as the templates", nil, nil, doctor.OK, "templates", "20 of access.yaml, 3 of alarms.yaml, 3 of core.yaml; nothing is deployed of lambda.yaml, service.yaml"},
		{"a role is missing", func(all map[string]map[string]any) { delete(all, worker) }, nil, doctor.Warning, "template access.yaml", "missing: role " + prefix + "worker"},
		{"a role of the sandbox", func(all map[string]map[string]any) {
			all[worker]["ManagedPolicyArns"] = append(all[worker]["ManagedPolicyArns"].([]any), "arn:aws:iam::"+account+":policy/"+prefix+"sandbox")
		}, nil, doctor.OK, "templates", "20 of access.yaml"},
		{"a role with more policies", func(all map[string]map[string]any) {
			all[worker]["ManagedPolicyArns"] = append(all[worker]["ManagedPolicyArns"].([]any), "arn:aws:iam::aws:policy/AdministratorAccess")
		}, nil, doctor.Warning, "role " + prefix + "worker", "ManagedPolicyArns has also arn:aws:iam::aws:policy/AdministratorAccess"},
		{"a role without a policy", func(all map[string]map[string]any) {
			all[worker]["ManagedPolicyArns"] = slices.DeleteFunc(all[worker]["ManagedPolicyArns"].([]any), func(one any) bool { return strings.HasSuffix(one.(string), "stream") })
		}, nil, doctor.Warning, "role " + prefix + "worker", "ManagedPolicyArns lacks arn:aws:iam::" + account + ":policy/" + prefix + "stream"},
		{"who may take a role", func(all map[string]map[string]any) {
			statements(all[worker], "AssumeRolePolicyDocument")[0].(map[string]any)["Principal"] = map[string]any{"AWS": "*"}
		}, nil, doctor.Warning, "role " + prefix + "worker", "AssumeRolePolicyDocument has also sts:AssumeRole Principal {AWS: *}"},
		{"the state machine's role may do more", func(all map[string]map[string]any) {
			statements(all[machine]["Policies"].([]any)[0].(map[string]any), "PolicyDocument")[0].(map[string]any)["Action"] = []any{"dynamodb:UpdateItem", "dynamodb:DeleteItem"}
		}, nil, doctor.Warning, "role " + prefix + "state-machine", "PolicyDocument has also dynamodb:DeleteItem on arn:aws:dynamodb:" + region + ":" + account + ":table/" + prefix + "parked-tasks"},
		{"the state machine's role may do nothing", func(all map[string]map[string]any) { delete(all[machine], "Policies") }, nil, doctor.Warning, "role " + prefix + "state-machine", "Policies lacks"},
		{"a policy allows less", func(all map[string]map[string]any) {
			one := all[activities]["PolicyDocument"].(map[string]any)
			one["Statement"] = slices.DeleteFunc(one["Statement"].([]any), func(s any) bool { return strings.Contains(mustJSON(t, s), "refusals") })
		}, nil, doctor.Warning, "policy " + prefix + "activities", "PolicyDocument lacks dynamodb:UpdateItem on arn:aws:dynamodb:" + region + ":" + account + ":table/" + prefix + "refusals"},
		{"a policy denies", func(all map[string]map[string]any) {
			one := all[activities]["PolicyDocument"].(map[string]any)
			one["Statement"] = append(one["Statement"].([]any), map[string]any{"Effect": "Deny", "Action": "dynamodb:*", "Resource": "*"})
		}, nil, doctor.Warning, "policy " + prefix + "activities", "PolicyDocument has also Deny dynamodb:* on *"},
		{"other statements with the same rules", func(all map[string]map[string]any) {
			one := all[activities]["PolicyDocument"].(map[string]any)
			for _, s := range one["Statement"].([]any) {
				statement := s.(map[string]any)
				for _, action := range statement["Action"].([]any)[1:] {
					one["Statement"] = append(one["Statement"].([]any), map[string]any{"Effect": "Allow", "Action": action, "Resource": statement["Resource"]})
				}
				statement["Action"] = statement["Action"].([]any)[0]
			}
		}, nil, doctor.OK, "templates", "20 of access.yaml"},
		{"the topic is not encrypted", func(all map[string]map[string]any) { delete(all[topic], "KmsMasterKeyId") }, nil, doctor.Warning, "topic " + prefix + "alarms", "KmsMasterKeyId is missing"},
		{"no one gets the alarms", set(topic, "Subscription", []any{}), nil, doctor.Warning, "topic " + prefix + "alarms", "Subscription is missing"},
		{"anyone may publish", func(all map[string]map[string]any) {
			delete(statements(all[inline], "PolicyDocument")[0].(map[string]any), "Condition")
		},
			nil, doctor.Warning, "policy of topic arn:aws:sns:" + region + ":" + account + ":" + prefix + "alarms", "PolicyDocument lacks sns:Publish"},
		{"the rule is disabled", set(rule, "State", "DISABLED"), nil, doctor.Warning, "rule " + prefix + "executions", "State is DISABLED, not ENABLED"},
		{"the rule sends elsewhere", set(rule, "Targets", []any{map[string]any{"Id": "topic", "Arn": "arn:aws:sns:us-east-1:1:other"}}), nil, doctor.Warning, "rule " + prefix + "executions", "Targets.Arn is arn:aws:sns:us-east-1:1:other, not arn:aws:sns:"},
		{"the rule catches less", func(all map[string]map[string]any) {
			detail := all[rule]["EventPattern"].(map[string]any)["detail"].(map[string]any)
			detail["status"] = []any{"FAILED", "ABORTED"}
		}, nil, doctor.Warning, "rule " + prefix + "executions", "EventPattern.detail.status lacks TIMED_OUT"},
		{"the rule has a condition more", func(all map[string]map[string]any) {
			all[rule]["EventPattern"].(map[string]any)["account"] = []any{"1"}
		}, nil, doctor.Warning, "rule " + prefix + "executions", "EventPattern.account should not be there"},
		{"a pattern as a text", func(all map[string]map[string]any) {
			all[rule]["EventPattern"] = mustJSON(t, all[rule]["EventPattern"])
		}, nil, doctor.OK, "templates", "3 of alarms.yaml"},
		{"a queue forgets", set(requests, "MessageRetentionPeriod", 345600), nil, doctor.Warning, "settings of queue " + prefix + "requests", "MessageRetentionPeriod is 345600, not 1209600"},
		{"a queue gives up early", func(all map[string]map[string]any) {
			all[requests]["RedrivePolicy"].(map[string]any)["maxReceiveCount"] = 3
		}, nil, doctor.Warning, "settings of queue " + prefix + "requests", "RedrivePolicy.maxReceiveCount is 3, not 100"},
		{"roles of your own", func(all map[string]map[string]any) {
			maps.DeleteFunc(all, func(id string, _ map[string]any) bool { return strings.Contains(id, "IAM") && id != machine })
		}, nil, doctor.Unchecked, "template access.yaml", "none of 20 resources that it creates is there"},
		{"it may not call the API", nil, map[string]string{"": "AccessDeniedException"}, doctor.Unchecked, "templates", "could not be compared: AccessDeniedException"},
		{"it may not read rules", nil, map[string]string{"AWS::Events::Rule": "GeneralServiceException"}, doctor.Unchecked, "template alarms.yaml", "could not be compared: rule " + prefix + "executions: GeneralServiceException: User is not authorized"},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := &cloud{role: "arn:aws:iam::" + account + ":role/" + prefix + "state-machine", resources: decode[map[string]map[string]any](t, json.RawMessage(asWritten)), faults: c.faults}
			if c.change != nil {
				c.change(a.resources)
			}

			found := examined(t, a)
			bad := slices.DeleteFunc(slices.Clone(found), func(one doctor.Check) bool { return c.result != doctor.OK && one.Result == doctor.OK })

			if len(bad) != 1 || bad[0].Result != c.result || bad[0].Subject != c.subject || !strings.Contains(bad[0].Found, c.found) || (bad[0].Result == doctor.OK) != (bad[0].Action == "") {
				t.Errorf("found %+v", found)
			}

			if c.faults[""] != "" && a.asked > 6 {
				t.Errorf("%d calls after the first denial", a.asked)
			}
		})
	}
}

// service returns a service of service.yaml with its task definition and its log group, as the Cloud Control API answers
// them, and the identifiers of the first two.
func service(t *testing.T, cluster string, parameters map[string]string) (all map[string]map[string]any, itself, task string) {
	t.Helper()

	given := map[string]string{
		"Prefix": prefix, "Cluster": cluster, "Image": "ratchet@sha256:1", "Subnets": "subnet-1", "SecurityGroups": "sg-1",
		"WebhookSecret": "arn:aws:secretsmanager:" + region + ":" + account + ":secret:ratchet-webhook-secret",
	}
	maps.Copy(given, parameters)
	c := readTemplate(t, "service.yaml", given)

	one := func(kind string) map[string]any {
		for _, properties := range c.ofType(kind) {
			return decode[map[string]any](t, json.RawMessage(mustJSON(t, properties)))
		}
		t.Fatalf("service.yaml has no %s", kind)

		return nil
	}
	logs, tasks, services := one("AWS::Logs::LogGroup"), one("AWS::ECS::TaskDefinition"), one("AWS::ECS::Service")

	ecs := "arn:aws:ecs:" + region + ":" + account + ":"
	arn := ecs + "task-definition/" + fmt.Sprint(tasks["Family"]) + ":7"
	name := fmt.Sprint(services["ServiceName"])

	// What AWS adds, and a variable of the program itself.
	tasks["Revision"] = 7
	container := tasks["ContainerDefinitions"].([]any)[0].(map[string]any)
	container["MountPoints"] = []any{}
	container["LogConfiguration"].(map[string]any)["Options"].(map[string]any)["awslogs-group"] = logs["LogGroupName"]
	container["Environment"] = append([]any{map[string]any{"Name": "BANK_TOKEN", "Value": "hush"}}, container["Environment"].([]any)...)

	services["TaskDefinition"], services["Cluster"] = arn, ecs+"cluster/"+cluster
	services["NetworkConfiguration"] = map[string]any{"AwsvpcConfiguration": map[string]any{"AssignPublicIp": "DISABLED", "Subnets": []any{"subnet-1"}, "SecurityGroups": []any{"sg-1"}}}

	itself = "AWS::ECS::Service " + ecs + "service/" + cluster + "/" + name + "|" + cluster
	task = "AWS::ECS::TaskDefinition " + arn

	return map[string]map[string]any{itself: services, task: tasks, "AWS::Logs::LogGroup " + fmt.Sprint(logs["LogGroupName"]): logs}, itself, task
}

// TestTheDoctorComparesTheServices: a service and its task definition are found in any cluster, and held against
// service.yaml. Variables of the program's own are right, and their values are not printed.
func TestTheDoctorComparesTheServices(t *testing.T) {
	core := mustJSON(t, deployed(t, "", "access.yaml", "alarms.yaml", "core.yaml"))
	worker, itself, task := service(t, "shop", nil)
	api, blue, _ := service(t, "front", map[string]string{"Part": "api", "Color": "-blue", "TargetGroup": "arn:aws:elasticloadbalancing:1"})

	asWritten := mustJSON(t, worker)
	container := func(all map[string]map[string]any) map[string]any {
		return all[task]["ContainerDefinitions"].([]any)[0].(map[string]any)
	}
	variables := func(all map[string]map[string]any) []any { return container(all)["Environment"].([]any) }

	for _, c := range []struct {
		name           string
		change         func(map[string]map[string]any)
		faults         map[string]string
		result         doctor.Result
		subject, found string
	}{
		{"as the template", nil, nil, doctor.OK, "templates", "2 of service.yaml; nothing is deployed of lambda.yaml"},
		{"a second one in another cluster", func(all map[string]map[string]any) { maps.Copy(all, api) }, nil, doctor.OK, "templates", "4 of service.yaml"},
		{"the other one has no load balancer", func(all map[string]map[string]any) {
			maps.Copy(all, decode[map[string]map[string]any](t, json.RawMessage(mustJSON(t, api))))
			all[blue]["DeploymentConfiguration"].(map[string]any)["DeploymentCircuitBreaker"].(map[string]any)["Enable"] = false
		}, nil, doctor.Warning, "service " + prefix + "api-blue", "DeploymentConfiguration.DeploymentCircuitBreaker.Enable is false, not true"},
		{"other processes run the old and the new at once", func(all map[string]map[string]any) {
			all[itself]["DeploymentConfiguration"].(map[string]any)["MinimumHealthyPercent"] = 0
		}, nil, doctor.Warning, "service " + prefix + "worker", "DeploymentConfiguration.MinimumHealthyPercent is 0, not 100"},
		{"without a health check", func(all map[string]map[string]any) { delete(container(all), "HealthCheck") }, nil, doctor.Warning, "service " + prefix + "worker", "TaskDefinition.ContainerDefinitions.ratchet.HealthCheck is missing"},
		{"killed early", func(all map[string]map[string]any) { container(all)["StopTimeout"] = 30 }, nil, doctor.Warning, "service " + prefix + "worker", "TaskDefinition.ContainerDefinitions.ratchet.StopTimeout is 30, not 120"},
		{"with the role of another part", func(all map[string]map[string]any) {
			all[task]["TaskRoleArn"] = "arn:aws:iam::" + account + ":role/admin"
		}, nil, doctor.Warning, "service " + prefix + "worker", "TaskDefinition.TaskRoleArn is arn:aws:iam::" + account + ":role/admin, not arn:aws:iam::" + account + ":role/" + prefix + "worker"},
		{"with another prefix", func(all map[string]map[string]any) {
			for _, v := range variables(all) {
				if v := v.(map[string]any); v["Name"] == "RATCHET_PREFIX" {
					v["Value"] = "other-"
				}
			}
		}, nil, doctor.Warning, "service " + prefix + "worker", "TaskDefinition.ContainerDefinitions.ratchet.Environment.RATCHET_PREFIX.Value is other-, not " + prefix},
		{"without a setting", func(all map[string]map[string]any) {
			container(all)["Environment"] = slices.DeleteFunc(variables(all), func(v any) bool { return v.(map[string]any)["Name"] == "RATCHET_REQUESTS_QUEUE" })
		}, nil, doctor.Warning, "service " + prefix + "worker", "TaskDefinition.ContainerDefinitions.ratchet.Environment lacks RATCHET_REQUESTS_QUEUE"},
		{"without the secret, which is a parameter", func(all map[string]map[string]any) { delete(container(all), "Secrets") }, nil, doctor.OK, "templates", "2 of service.yaml"},
		{"beside a container of one's own", func(all map[string]map[string]any) {
			all[task]["ContainerDefinitions"] = append([]any{map[string]any{"Name": "logs", "Image": "fluent"}}, all[task]["ContainerDefinitions"].([]any)...)
		}, nil, doctor.OK, "templates", "2 of service.yaml"},
		{"without another program", func(all map[string]map[string]any) { container(all)["Name"] = "other" }, nil, doctor.Warning, "service " + prefix + "worker", "TaskDefinition.ContainerDefinitions lacks ratchet"},
		{"it may not list services", nil, map[string]string{"list AWS::ECS::Service": "GeneralServiceException"}, doctor.Unchecked, "template service.yaml", "User is not authorized to perform: ecs:ListClusters"},
		{"it may not read task definitions", nil, map[string]string{"AWS::ECS::TaskDefinition": "GeneralServiceException"}, doctor.Unchecked, "template service.yaml", "service " + prefix + "worker"},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := &cloud{role: "arn:aws:iam::" + account + ":role/" + prefix + "state-machine", resources: decode[map[string]map[string]any](t, json.RawMessage(core)), faults: c.faults}
			maps.Copy(a.resources, decode[map[string]map[string]any](t, json.RawMessage(asWritten)))

			if c.change != nil {
				c.change(a.resources)
			}

			found := examined(t, a)
			bad := slices.DeleteFunc(slices.Clone(found), func(one doctor.Check) bool { return c.result != doctor.OK && one.Result == doctor.OK })

			if len(bad) != 1 || bad[0].Result != c.result || bad[0].Subject != c.subject || !strings.Contains(bad[0].Found, c.found) {
				t.Errorf("found %+v", found)
			}

			if strings.Contains(fmt.Sprint(found), "hush") {
				t.Errorf("a variable's value is printed: %+v", found)
			}
		})
	}
}

// TestTheDoctorKnowsTheDeploymentsSuffix: behind the names of a second Region stands a suffix, which the state machine's
// role tells.
func TestTheDoctorKnowsTheDeploymentsSuffix(t *testing.T) {
	a := &cloud{role: "arn:aws:iam::" + account + ":role/" + prefix + "state-machine-eu", resources: deployed(t, "-eu", "access.yaml", "alarms.yaml", "core.yaml")}

	found := examined(t, a)
	if len(found) != 1 || found[0].Result != doctor.OK || !strings.Contains(found[0].Found, "20 of access.yaml") {
		t.Errorf("found %+v", found)
	}
}

// TestEachKindOfResourceIsComparedOrNot: each kind that a template writes is compared, or it is said why not, in the
// program and in docs/reference.
func TestEachKindOfResourceIsComparedOrNot(t *testing.T) {
	page, err := os.ReadFile("../../docs/reference/deployed.md")
	if err != nil {
		t.Fatal(err)
	}

	compared, others := stack.Kinds()
	written, named := map[string]bool{}, map[string]bool{}

	for name := range filesIn(t, filepath.Join(root, "cloudformation")) {
		if !strings.HasSuffix(name, ".yaml") {
			continue
		}

		for logical, resource := range readTemplate(t, name, nil).resources {
			kind := resource["Type"].Value
			written[kind] = true

			if _, excused := others[kind]; !excused && !slices.Contains(compared, kind) {
				t.Errorf("%s of %s is a %s, which is neither compared nor excused", logical, name, kind)
			}

			if short := strings.TrimPrefix(kind, "AWS::"); !named[kind] && !strings.Contains(string(page), "`"+short+"`") {
				t.Errorf("docs/reference/deployed.md does not name `%s`", short)
			}
			named[kind] = true
		}
	}

	for _, kind := range slices.Concat(compared, slices.Collect(maps.Keys(others))) {
		if !written[kind] {
			t.Errorf("no template has a %s", kind)
		}
	}
}
