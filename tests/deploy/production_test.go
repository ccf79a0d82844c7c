package deploy

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// forProduction gives every parameter of production.
var forProduction = map[string]string{
	"Vpc": "v", "SecurityGroup": "g", "Subnets": "s", "Certificate": "c", "PublicSubnets": "p", "RouteTables": "r", "MonthlyBudget": "500", "Email": "e",
	"GreenPercent": "10", "BluePercent": "90",
}

// TestProductionIsOffUntilItIsAskedFor: without its parameters nothing of production.yaml is created, no service scales and no
// table has a maximum; with them, all of it is.
func TestProductionIsOffUntilItIsAskedFor(t *testing.T) {
	given := map[string]string{"Vpc": "v", "SecurityGroup": "g", "Subnets": "s"}
	off, on := readTemplate(t, "production.yaml", given), readTemplate(t, "production.yaml", forProduction)

	for name, resource := range off.resources {
		kind := resource["Type"].Value
		if len(off.ofType(kind)) > 0 {
			t.Errorf("%s is created without a parameter", name)
		}

		if _, there := on.ofType(kind)[name]; !there {
			t.Errorf("%s is not created with all parameters", name)
		}
	}

	service := map[string]string{"Image": "i", "Cluster": "c", "Subnets": "s", "SecurityGroups": "g"}
	scaling := func(part, most string) (names []string) {
		c := readTemplate(t, "service.yaml", merged(service, map[string]string{"Part": part, "MaxTasks": most}))
		for _, kind := range []string{"AWS::ApplicationAutoScaling::ScalableTarget", "AWS::ApplicationAutoScaling::ScalingPolicy", "AWS::CloudWatch::Alarm"} {
			names = append(names, slices.Sorted(maps.Keys(c.ofType(kind)))...)
		}

		return names
	}

	for _, c := range []struct {
		part, most string
		want       []string
	}{
		{"worker", "0", nil},
		{"worker", "6", []string{"Scaling", "BacklogPolicy", "BusyPolicy", "QuotaPolicy", "QuotaAlarm"}},
		{"requests", "6", []string{"Scaling", "BacklogPolicy", "BusyPolicy"}},
		{"activities", "6", []string{"Scaling", "BusyPolicy", "QuotaPolicy", "QuotaAlarm"}},
		{"api", "6", []string{"Scaling", "BusyPolicy"}},
	} {
		if diff := cmp.Diff(c.want, scaling(c.part, c.most)); diff != "" {
			t.Errorf("%s, at most %s:\n%s", c.part, c.most, diff)
		}
	}

	for maximum, want := range map[string]string{"": "null", "4000": `{"MaxWriteRequestUnits":"4000"}`} {
		orders := readTemplate(t, "core.yaml", map[string]string{"MaxWrites": maximum}).ofType("AWS::DynamoDB::Table")["OrdersTable"]
		if got := mustJSON(t, orders["OnDemandThroughput"]); got != want {
			t.Errorf("maximum %q: %s, want %s", maximum, got, want)
		}
	}
}

func merged(all ...map[string]string) map[string]string {
	m := map[string]string{}
	for _, one := range all {
		maps.Copy(m, one)
	}

	return m
}

// TestProductionIsTheSameInBoth: both kinds of templates have endpoints of the same services, the same TLS, ports, health
// check, thresholds and scaling.
func TestProductionIsTheSameInBoth(t *testing.T) {
	cloudFormation := readText(t, filepath.Join(root, "cloudformation/production.yaml")) + readText(t, filepath.Join(root, "cloudformation/service.yaml"))
	terraform := readText(t, filepath.Join(root, "terraform/production.tf")) + readText(t, filepath.Join(root, "terraform/service.tf"))

	endpoints := map[string]bool{}
	for _, properties := range readTemplate(t, "production.yaml", forProduction).ofType("AWS::EC2::VPCEndpoint") {
		endpoints[strings.TrimPrefix(fmt.Sprint(properties["ServiceName"]), "com.amazonaws."+region+".")] = true
	}

	listed := map[string]bool{}
	for _, list := range regexp.MustCompile(`var.vpc_endpoints == null \? toset\(\[\]\) : toset\(\[([^\]]+)\]`).FindAllStringSubmatch(terraform, -1) {
		for one := range strings.SplitSeq(list[1], ",") {
			listed[strings.Trim(one, ` "`)] = true
		}
	}

	if diff := cmp.Diff(endpoints, listed); diff != "" || len(listed) != 9 {
		t.Errorf("endpoints of CloudFormation (-) and Terraform (+):\n%s", diff)
	}

	for _, shared := range []string{
		"ELBSecurityPolicy-TLS13-1-2-2021-06", "/readyz", "ECSServiceAverageCPUUtilization", "waiting / running", "ApproximateNumberOfMessagesVisible",
		"RunningTaskCount", "ThrottledEvents", "GetActivityTask", "ChangeInCapacity", "FORECASTED", "ACTUAL", "ecs:service:DesiredCount",
	} {
		if !strings.Contains(cloudFormation, shared) || !strings.Contains(terraform, shared) {
			t.Errorf("%s is not in both", shared)
		}
	}
}

// TestTwoRegionsShareNoName: with a suffix, no role and no policy has a name that an installation without it has.
func TestTwoRegionsShareNoName(t *testing.T) {
	names := func(suffix string) (all []string) {
		for file, parameters := range map[string]map[string]string{"core.yaml": {}, "access.yaml": {"Sandbox": "true"}} {
			c := readTemplate(t, file, merged(parameters, map[string]string{"NameSuffix": suffix}))
			for _, p := range c.ofType("AWS::IAM::Role") {
				all = append(all, fmt.Sprint(p["RoleName"]))
			}

			for _, p := range c.ofType("AWS::IAM::ManagedPolicy") {
				all = append(all, fmt.Sprint(p["ManagedPolicyName"]))
			}
		}

		return all
	}

	here := names("")
	for _, name := range names("-eu") {
		if slices.Contains(here, name) || !strings.HasSuffix(name, "-eu") {
			t.Errorf("%s", name)
		}
	}

	task := readTemplate(t, "service.yaml", map[string]string{"Image": "i", "Cluster": "c", "Subnets": "s", "SecurityGroups": "g", "NameSuffix": "-eu"}).ofType("AWS::ECS::TaskDefinition")["Task"]
	if role := fmt.Sprint(task["TaskRoleArn"]); !strings.HasSuffix(role, ":role/"+prefix+"worker-eu") {
		t.Errorf("the service takes the role %s", role)
	}

	lambda := readTemplate(t, "lambda.yaml", map[string]string{"StreamImage": "i", "RequestsImage": "i", "OrdersStreamArn": "arn:s", "NameSuffix": "-eu"})
	for name, properties := range lambda.ofType("AWS::Lambda::Function") {
		if role := fmt.Sprint(properties["Role"]); !strings.HasSuffix(role, "-eu") {
			t.Errorf("%s takes the role %s", name, role)
		}
	}

	for _, role := range decode[[]string](t, lambda.ofType("AWS::IAM::ManagedPolicy")["MappingPolicy"]["Roles"]) {
		if !strings.HasSuffix(role, "-eu") {
			t.Errorf("the mapping's policy is given to %s", role)
		}
	}

	for _, file := range []string{"main.tf", "access.tf", "service.tf"} {
		text := readText(t, filepath.Join(root, "terraform", file))
		for _, block := range regexp.MustCompile(`(?s)resource "aws_iam_(?:role|policy)" .*?\n}`).FindAllString(text, -1) {
			if name := regexp.MustCompile(`\n  name +=.*`).FindString(block); !strings.Contains(name, "${var.name_suffix}") {
				t.Errorf("%s:%s", file, name)
			}
		}
	}
}

// largestInline is how many bytes a template may have that the AWS CLI sends without a bucket.
const largestInline = 51200

// TestLargeTemplatesGoByABucket: the commands of deploy.md name a bucket for each template that the AWS CLI refuses without.
func TestLargeTemplatesGoByABucket(t *testing.T) {
	guide := strings.ReplaceAll(readText(t, "../../docs/operate/deploy.md"), "\\\n", " ")
	found := 0

	for _, line := range regexp.MustCompile(`(?m)^ +aws cloudformation deploy .*$`).FindAllString(guide, -1) {
		template := regexp.MustCompile(`--template-file (deploy/\S+)`).FindStringSubmatch(line)
		if template == nil {
			continue // of `package`, which has put it into the bucket
		}
		found++

		info, err := os.Stat(filepath.Join("../..", template[1]))
		if err != nil {
			t.Fatal(err)
		}

		if info.Size() > largestInline && !strings.Contains(line, "--s3-bucket") {
			t.Errorf("%s has %d bytes, and no bucket: %s", template[1], info.Size(), line)
		}
	}

	if found < 3 {
		t.Errorf("%d commands found", found)
	}
}
