package deploy

import (
	"fmt"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// blockOf returns the text of a block of Terraform's files.
func blockOf(t *testing.T, file, head string) string {
	t.Helper()

	block := regexp.MustCompile(`(?s)` + regexp.QuoteMeta(head) + ` \{\n.*?\n\}`).FindString(readText(t, filepath.Join(root, "terraform", file)))
	if block == "" {
		t.Fatalf("%s has no %s", file, head)
	}

	return block
}

// TestTheFiguresOfProductionAreTheSameInBoth: ports, weights, thresholds and targets of both kinds of templates, value by
// value.
func TestTheFiguresOfProductionAreTheSameInBoth(t *testing.T) {
	production := readTemplate(t, "production.yaml", forProduction)
	service := readTemplate(t, "service.yaml", map[string]string{"Image": "i", "Cluster": "c", "Subnets": "s", "SecurityGroups": "g", "MaxTasks": "6"})

	listener := production.ofType("AWS::ElasticLoadBalancingV2::Listener")["Listener"]
	forward := decode[[]struct {
		ForwardConfig struct {
			TargetGroups []struct{ TargetGroupArn, Weight string }
		}
	}](t, listener["DefaultActions"])[0].ForwardConfig.TargetGroups
	weights := map[string]string{}

	for _, g := range forward {
		weights[g.TargetGroupArn] = g.Weight
	}

	if diff := cmp.Diff(map[string]string{"ref:GreenTargetGroup": "10", "ref:BlueTargetGroup": "90"}, weights); diff != "" {
		t.Errorf("the shares of green and blue:\n%s", diff)
	}

	policy := func(name string) map[string]any {
		return service.ofType("AWS::ApplicationAutoScaling::ScalingPolicy")[name]
	}
	busy := policy("BusyPolicy")["TargetTrackingScalingPolicyConfiguration"].(map[string]any)
	backlog := policy("BacklogPolicy")["TargetTrackingScalingPolicyConfiguration"].(map[string]any)
	quota := policy("QuotaPolicy")["StepScalingPolicyConfiguration"].(map[string]any)
	step := quota["StepAdjustments"].([]any)[0].(map[string]any)
	alarm := service.ofType("AWS::CloudWatch::Alarm")["QuotaAlarm"]
	group := production.ofType("AWS::ElasticLoadBalancingV2::TargetGroup")["GreenTargetGroup"]

	if backlog["TargetValue"] != "100" || len(production.ofType("AWS::ElasticLoadBalancingV2::TargetGroup")) != 2 {
		t.Errorf("the backlog of a process is %v, want the parameter's 100", backlog["TargetValue"])
	}

	for _, c := range []struct {
		file, head, line string // of Terraform
		value            any    // of CloudFormation
	}{
		{"production.tf", `resource "aws_lb_listener" "api"`, `weight = var.load_balancer.green_percent`, ""},
		{"production.tf", `resource "aws_lb_listener" "api"`, `weight = 100 - var.load_balancer.green_percent`, ""},
		{"production.tf", `resource "aws_lb_listener" "api"`, "ssl_policy = \"%v\"", listener["SslPolicy"]},
		{"production.tf", `resource "aws_lb_listener" "api"`, "protocol = \"%v\"", listener["Protocol"]},
		{"production.tf", `resource "aws_lb_listener" "api"`, "port = %v", listener["Port"]},
		{"production.tf", `resource "aws_lb_target_group" "api"`, "port = %v", group["Port"]},
		{"production.tf", `resource "aws_lb_target_group" "api"`, "interval = %v", group["HealthCheckIntervalSeconds"]},
		{"production.tf", `resource "aws_budgets_budget" "month"`, "for_each = { ACTUAL = 80, FORECASTED = 100 }", ""},
		{"service.tf", `resource "aws_appautoscaling_policy" "busy"`, "target_value = %v", busy["TargetValue"]},
		{"service.tf", `resource "aws_appautoscaling_policy" "backlog"`, "target_value = each.value.backlog", ""},
		{"service.tf", `resource "aws_appautoscaling_policy" "quota"`, "cooldown = %v", quota["Cooldown"]},
		{"service.tf", `resource "aws_appautoscaling_policy" "quota"`, "scaling_adjustment = %v", step["ScalingAdjustment"]},
		{"service.tf", `resource "aws_cloudwatch_metric_alarm" "quota"`, "threshold = %v", alarm["Threshold"]},
		{"service.tf", `resource "aws_cloudwatch_metric_alarm" "quota"`, "evaluation_periods = %v", alarm["EvaluationPeriods"]},
	} {
		want := c.line
		if c.value != "" {
			want = fmt.Sprintf(c.line, c.value)
		}

		if spaced := regexp.MustCompile(` += `).ReplaceAllString(blockOf(t, c.file, c.head), " = "); !regexp.MustCompile(`\n *` + regexp.QuoteMeta(want) + `\n`).MatchString(spaced) {
			t.Errorf("%s: %s has no %q", c.file, c.head, want)
		}
	}

	budget := mustJSON(t, production.ofType("AWS::Budgets::Budget"))
	for _, notification := range []string{`"NotificationType":"ACTUAL","Threshold":80`, `"NotificationType":"FORECASTED","Threshold":100`} {
		if !regexp.MustCompile(notification).MatchString(budget) {
			t.Errorf("the budget has no %s: %s", notification, budget)
		}
	}
}

// TestEveryTableTakesKeyAndMaximum: a key and a maximum throughput concern every table, in both kinds of templates.
func TestEveryTableTakesKeyAndMaximum(t *testing.T) {
	with := readTemplate(t, "core.yaml", map[string]string{"TableKey": "k", "MaxReads": "7", "MaxWrites": "9", "Sandbox": "true"}).ofType("AWS::DynamoDB::Table")
	without := readTemplate(t, "core.yaml", map[string]string{"Sandbox": "true"}).ofType("AWS::DynamoDB::Table")

	if len(with) < 20 || len(with) != len(without) {
		t.Fatalf("%d and %d tables", len(with), len(without))
	}

	for name, table := range with {
		got := mustJSON(t, []any{table["SSESpecification"], table["OnDemandThroughput"]})
		if want := `[{"KMSMasterKeyId":"k","SSEEnabled":true,"SSEType":"KMS"},{"MaxReadRequestUnits":"7","MaxWriteRequestUnits":"9"}]`; got != want {
			t.Errorf("%s: %s", name, got)
		}

		if got := mustJSON(t, []any{without[name]["SSESpecification"], without[name]["OnDemandThroughput"]}); got != "[null,null]" {
			t.Errorf("%s without parameters: %s", name, got)
		}
	}

	// Terraform has one resource for all tables.
	spaced := regexp.MustCompile(`\s+`).ReplaceAllString(blockOf(t, "main.tf", `resource "aws_dynamodb_table" "table"`), " ")
	for _, part := range []string{
		`dynamic "server_side_encryption" { for_each = var.table_key == "" ? [] : [var.table_key] content { enabled = true kms_key_arn = server_side_encryption.value } }`,
		`dynamic "on_demand_throughput" { for_each = var.max_reads == -1 && var.max_writes == -1 ? [] : [true] content { max_read_request_units = var.max_reads max_write_request_units = var.max_writes } }`,
	} {
		if !regexp.MustCompile(regexp.QuoteMeta(part)).MatchString(spaced) {
			t.Errorf("main.tf has no %s", part)
		}
	}
}
