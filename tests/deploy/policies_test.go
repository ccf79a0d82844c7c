package deploy

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"
)

// maxPolicy is how many characters a managed policy may have, without white space (IAM and STS quotas).
const maxPolicy = 6144

// TestPoliciesAreThePermissions compares the policy of each part in both templates with
// deploy/permissions, in both directions.
func TestPoliciesAreThePermissions(t *testing.T) {
	cloudFormation := map[string]document{}
	for _, properties := range readTemplate(t, "access.yaml", withSandbox).ofType("AWS::IAM::ManagedPolicy") {
		name := strings.TrimPrefix(fmt.Sprint(properties["ManagedPolicyName"]), prefix)
		cloudFormation[name] = decode[document](t, properties["PolicyDocument"])
	}

	terraform := map[string]document{}
	for _, content := range readTerraform(t).instances("aws_iam_policy", "part") {
		var policy document
		if err := json.Unmarshal([]byte(content["policy"].AsString()), &policy); err != nil {
			t.Fatal(err)
		}
		terraform[strings.TrimPrefix(content["name"].AsString(), prefix)] = policy
	}

	for name, policies := range map[string]map[string]document{"CloudFormation": cloudFormation, "Terraform": terraform} {
		t.Run(name, func(t *testing.T) {
			if len(policies) != len(parts) {
				t.Errorf("%d policies, want one for each of %v", len(policies), parts)
			}

			for _, part := range parts {
				comparePermissions(t, part, policies[part].permissionsIn(t))

				// Longer names of Region and partition, and the longest prefix, come on top.
				if size := len(mustJSON(t, policies[part])); size > maxPolicy*9/10 {
					t.Errorf("policy %s has %d characters of at most %d", part, size, maxPolicy)
				}
			}
		})
	}
}

// TestRolesHaveTheirPolicies compares which role has which policies in both templates.
func TestRolesHaveTheirPolicies(t *testing.T) {
	cloudFormation := map[string][]string{}
	c := readTemplate(t, "access.yaml", withSandbox)
	for _, properties := range c.ofType("AWS::IAM::Role") {
		role := strings.TrimPrefix(fmt.Sprint(properties["RoleName"]), prefix)
		for _, policy := range texts(properties["ManagedPolicyArns"]) {
			name := strings.TrimSuffix(strings.TrimPrefix(policy, "ref:"), "Policy")
			cloudFormation[role] = append(cloudFormation[role], strings.ToLower(name))
		}
		slices.Sort(cloudFormation[role])
	}

	m := readTerraform(t)
	terraform := map[string][]string{}
	for _, pair := range decodeValue[map[string]struct{ Role, Part string }](t, m.local["attachments"]) {
		terraform[pair.Role] = append(terraform[pair.Role], pair.Part)
	}

	for role := range terraform {
		slices.Sort(terraform[role])
	}

	if diff := cmp.Diff(cloudFormation, terraform); diff != "" {
		t.Errorf("roles of CloudFormation (-) and Terraform (+):\n%s", diff)
	}

	worker := []string{"activities", "jobs", "notifications", "requests", "sandbox", "stream", "sweeps"}
	if !slices.Equal(terraform["worker"], worker) {
		t.Errorf("the role worker has the policies %v, want %v", terraform["worker"], worker)
	}
}

// TestTheStateMachineMayDoWhatItsTextSays: besides activities, the text calls services by their SDK
// integrations, and the role allows exactly those.
func TestTheStateMachineMayDoWhatItsTextSays(t *testing.T) {
	text, err := os.ReadFile("../../statemachine.asl.json")
	if err != nil {
		t.Fatal(err)
	}

	needed := map[permission]bool{}
	for _, match := range regexp.MustCompile(`"arn:aws:states:::([^"]*)"`).FindAllStringSubmatch(string(text), -1) {
		service, operation, _ := strings.Cut(strings.TrimPrefix(strings.TrimSuffix(match[1], ".waitForTaskToken"), "aws-sdk:"), ":")
		action := []rune(operation)
		action[0] = unicode.ToUpper(action[0])
		needed[permission{service + ":" + string(action), "table/parked-tasks"}] = true // ${TaskTokensTable}
	}

	c := readTemplate(t, "core.yaml", nil)
	policies := decode[[]struct{ PolicyDocument document }](t, c.value(members(c.resources["StateMachineRole"]["Properties"])["Policies"]))
	if diff := cmp.Diff(needed, policies[0].PolicyDocument.permissionsIn(t), cmp.AllowUnexported(permission{})); diff != "" {
		t.Errorf("CloudFormation: needed (-), allowed (+):\n%s", diff)
	}

	var policy document
	if err := json.Unmarshal([]byte(readTerraform(t).instances("aws_iam_role_policy", "waits")[""]["policy"].AsString()), &policy); err != nil {
		t.Fatal(err)
	}

	if diff := cmp.Diff(needed, policy.permissionsIn(t), cmp.AllowUnexported(permission{})); diff != "" {
		t.Errorf("Terraform: needed (-), allowed (+):\n%s", diff)
	}
}

// alarm is one of either template.
type alarm struct {
	Description, Namespace, Metric, Statistic, Comparison, Missing string
	Dimensions                                                     map[string]string
	Period, Periods, Threshold                                     float64
	// Expression computes what the alarm watches of the metrics, which are by the names in it. ID is its own name.
	Expression, ID string
	Metrics        map[string]alarmMetric
}

// alarmMetric is a metric of an expression.
type alarmMetric struct {
	Namespace, Metric string
	Dimensions        map[string]string
}

// watches returns the metrics of a namespace that the alarm watches.
func (a alarm) watches(namespace string) (names []string) {
	for _, m := range append(slices.Collect(maps.Values(a.Metrics)), alarmMetric{a.Namespace, a.Metric, a.Dimensions}) {
		if m.Namespace == namespace {
			names = append(names, m.Metric)
		}
	}

	return names
}

// dimensions are those of a metric in a template of CloudFormation.
type dimensions []struct{ Name, Value string }

func (d dimensions) byName() map[string]string {
	all := map[string]string{}
	for _, one := range d {
		all[one.Name] = one.Value
	}

	return all
}

// alarmsOf returns the alarms of a template of CloudFormation by their names without the prefix.
func alarmsOf(t *testing.T, from *template) map[string]alarm {
	t.Helper()

	all := map[string]alarm{}
	for _, properties := range from.ofType("AWS::CloudWatch::Alarm") {
		p := decode[struct {
			AlarmName, AlarmDescription, Namespace, MetricName, Statistic, ExtendedStatistic, ComparisonOperator, TreatMissingData string
			Dimensions                                                                                                             dimensions
			Period, EvaluationPeriods, Threshold                                                                                   float64
			Metrics                                                                                                                []struct {
				Id, Expression string //nolint:revive // the template's name
				MetricStat     struct {
					Stat   string
					Period float64
					Metric struct {
						Namespace, MetricName string
						Dimensions            dimensions
					}
				}
			}
		}](t, properties)

		one := alarm{
			Description: p.AlarmDescription, Namespace: p.Namespace, Metric: p.MetricName, Statistic: p.Statistic + p.ExtendedStatistic,
			Comparison: p.ComparisonOperator, Missing: p.TreatMissingData, Dimensions: p.Dimensions.byName(),
			Period: p.Period, Periods: p.EvaluationPeriods, Threshold: p.Threshold, Metrics: map[string]alarmMetric{},
		}

		for _, m := range p.Metrics {
			if m.Expression != "" {
				one.ID, one.Expression = m.Id, m.Expression
				continue
			}

			one.Statistic, one.Period = m.MetricStat.Stat, m.MetricStat.Period
			one.Metrics[m.Id] = alarmMetric{m.MetricStat.Metric.Namespace, m.MetricStat.Metric.MetricName, m.MetricStat.Metric.Dimensions.byName()}
		}
		all[strings.TrimPrefix(p.AlarmName, prefix)] = one
	}

	return all
}

// TestAlarmsHaveRunbooks compares the alarms of both templates, and wants a page for each, with the
// three parts that every page has. No page is without an alarm.
func TestAlarmsHaveRunbooks(t *testing.T) {
	for _, reader := range []string{"worker", "lambda"} {
		c := readTemplate(t, "alarms.yaml", map[string]string{"StreamReader": reader}).ofType("AWS::CloudWatch::Alarm")
		if _, worker := c["NoStreamReaderAlarm"]; worker != (reader == "worker") || worker == (c["StreamOnLambdaAlarm"] != nil) {
			t.Errorf("a %s reads the stream: the alarms are of another reader", reader)
		}
	}

	cloudFormation := alarmsOf(t, readTemplate(t, "alarms.yaml", nil))
	m := readTerraform(t)
	terraform := decodeValue[map[string]alarm](t, m.local["alarms"])
	if diff := cmp.Diff(cloudFormation, terraform); diff != "" {
		t.Errorf("alarms of CloudFormation (-) and Terraform (+):\n%s", diff)
	}

	pages := map[string]bool{}
	for name, a := range cloudFormation {
		_, page, found := strings.Cut(a.Description, "Runbook: ")
		if !found {
			t.Errorf("alarm %s names no runbook", name)
			continue
		}
		pages[filepath.Base(page)] = true

		text, err := os.ReadFile(filepath.Join("../..", page))
		if err != nil {
			t.Error(err)
			continue
		}

		for _, part := range []string{"## What it means", "## How to look", "## What to do"} {
			if !strings.Contains(string(text), part) {
				t.Errorf("%s lacks %q", page, part)
			}
		}
	}

	found, err := filepath.Glob("../../docs/operate/runbooks/*.md")
	if err != nil {
		t.Fatal(err)
	}

	// The names of Prometheus' alerts; tests/system compares the page with the rules.
	incidents, err := os.ReadFile("../../docs/operate/incidents.md")
	if err != nil {
		t.Fatal(err)
	}

	for _, page := range found {
		if !pages[filepath.Base(page)] && !strings.Contains(string(incidents), "(runbooks/"+filepath.Base(page)+")") {
			t.Errorf("%s belongs to no alarm", page)
		}
	}
}

// TestTheRuleNamesExecutionsThatEndBadly compares the pattern of the EventBridge rule in both templates.
func TestTheRuleNamesExecutionsThatEndBadly(t *testing.T) {
	c := readTemplate(t, "alarms.yaml", nil)
	pattern := mustJSON(t, c.ofType("AWS::Events::Rule")["ExecutionsRule"]["EventPattern"])

	got := canonical(t, readTerraform(t).instances("aws_cloudwatch_event_rule", "executions")[""]["event_pattern"].AsString())
	if got != pattern || !strings.Contains(pattern, "TIMED_OUT") {
		t.Errorf("CloudFormation %s, Terraform %s", pattern, got)
	}
}

// TestRunbooksNameCommandsThatExist looks up each command of a runbook and of some other pages in the list
// that TestPermissionsAreWhatIsCalled runs.
func TestRunbooksNameCommandsThatExist(t *testing.T) {
	var known []string
	for _, line := range script(t, "cli.txt") {
		_, command, _ := strings.Cut(line, " ")
		known = append(known, command)
	}

	pages, err := filepath.Glob("../../docs/operate/runbooks/*.md")
	if err != nil {
		t.Fatal(err)
	}

	command := regexp.MustCompile("(?:`|^    )ratchet ([a-z][a-z -]*[a-z])")
	for _, page := range append(pages, "../../docs/operate/deploy.md", "../../docs/operate/scale.md", "../../docs/operate/troubleshooting.md",
		"../../docs/guides/endpoints.md", "../../docs/guides/receive-webhooks.md", "../../docs/learn/faq.md") {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}

		for _, match := range command.FindAllStringSubmatch(string(text), -1) {
			words := strings.Fields(match[1])
			if i := slices.IndexFunc(words, func(w string) bool { return strings.HasPrefix(w, "-") }); i >= 0 {
				words = words[:i]
			}

			if !slices.ContainsFunc(known, func(k string) bool {
				have := strings.Fields(k)
				return len(have) >= 1 && have[0] == words[0] && (len(words) < 2 || len(have) < 2 || have[1] == words[1] || strings.HasPrefix(have[1], "-"))
			}) {
				t.Errorf("%s names `ratchet %s`, which does not exist", page, match[1])
			}
		}
	}
}
