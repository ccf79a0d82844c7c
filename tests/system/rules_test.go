package system

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"ratchet/operate/telemetry"
)

const (
	alertsFile     = "../../deploy/prometheus/alerts.yml"
	alertTestsFile = "../../deploy/prometheus/alerts_test.yml"
	dashboardFile  = "../../deploy/grafana/ratchet.json"
)

// metricName matches the metrics of Ratchet in an expression.
var metricName = regexp.MustCompile(`\bratchet_[a-z_]+\b`)

// unknownMetrics returns the metrics of an expression that are not in the catalog, which
// TestMetricsOfARunningSystem compares with what a running system shows.
func unknownMetrics(expression string) (unknown []string) {
	for _, name := range metricName.FindAllString(expression, -1) {
		known := slices.ContainsFunc(telemetry.Metrics(), func(m telemetry.Metric) bool {
			if m.Kind == telemetry.Histogram {
				return name == m.Name+"_bucket" || name == m.Name+"_sum" || name == m.Name+"_count"
			}

			return name == m.Name
		})
		if !known {
			unknown = append(unknown, name)
		}
	}

	return unknown
}

type alertRule struct {
	Alert       string
	Expr        string
	Labels      map[string]string
	Annotations map[string]string
}

func alertRules(t *testing.T) (rules []alertRule) {
	t.Helper()

	var file struct {
		Groups []struct{ Rules []alertRule }
	}
	readYAML(t, alertsFile, &file)

	for _, group := range file.Groups {
		rules = append(rules, group.Rules...)
	}

	if len(rules) == 0 {
		t.Fatalf("%s has no rules", alertsFile)
	}

	return rules
}

func readYAML(t *testing.T, name string, into any) {
	t.Helper()

	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}

	if err := yaml.Unmarshal(text, into); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
}

func TestAlertRulesNameMetricsThatExist(t *testing.T) {
	for _, rule := range alertRules(t) {
		if unknown := unknownMetrics(rule.Expr); len(unknown) > 0 || !metricName.MatchString(rule.Expr) {
			t.Errorf("%s: %q names %v, which nothing shows", rule.Alert, rule.Expr, unknown)
		}

		if rule.Labels["severity"] == "" || rule.Annotations["summary"] == "" || rule.Annotations["action"] == "" {
			t.Errorf("%s has no severity, summary or action", rule.Alert)
		}
	}
}

// TestEveryAlertHasAnIncidentPage looks up each alert in the table of docs/operate/incidents.md, whose pages must have
// the three parts of a runbook.
func TestEveryAlertHasAnIncidentPage(t *testing.T) {
	text, err := os.ReadFile("../../docs/operate/incidents.md")
	if err != nil {
		t.Fatal(err)
	}

	row := regexp.MustCompile(`(?m)^\| (` + "`.*`" + `) \| \[[a-z-]+\]\((runbooks/[a-z-]+\.md)\)`)
	pages := map[string]string{} // by alert

	for _, match := range row.FindAllStringSubmatch(string(text), -1) {
		for _, alert := range regexp.MustCompile(`Ratchet\w+`).FindAllString(match[1], -1) {
			pages[alert] = match[2]
		}
	}

	for _, rule := range alertRules(t) {
		page, err := os.ReadFile("../../docs/operate/" + pages[rule.Alert])
		if pages[rule.Alert] == "" || err != nil {
			t.Errorf("%s has no page in docs/operate/incidents.md: %v", rule.Alert, err)
		}
		delete(pages, rule.Alert)

		for _, part := range []string{"## What it means", "## How to look", "## What to do"} {
			if err == nil && !strings.Contains(string(page), part) {
				t.Errorf("the page of %s lacks %q", rule.Alert, part)
			}
		}
	}

	for alert := range pages {
		t.Errorf("docs/operate/incidents.md names %s, which is no alert", alert)
	}
}

func TestEveryAlertIsFiredByAUnitTest(t *testing.T) {
	var file struct {
		Tests []struct {
			AlertRuleTest []struct {
				Alertname string
				ExpAlerts []any `yaml:"exp_alerts"`
			} `yaml:"alert_rule_test"`
		}
	}
	readYAML(t, alertTestsFile, &file)

	fired, silent := map[string]bool{}, map[string]bool{}

	for _, test := range file.Tests {
		for _, check := range test.AlertRuleTest {
			if len(check.ExpAlerts) > 0 {
				fired[check.Alertname] = true
			} else {
				silent[check.Alertname] = true
			}
		}
	}

	for _, rule := range alertRules(t) {
		if !fired[rule.Alert] || !silent[rule.Alert] {
			t.Errorf("%s: a test in which it fires: %t, one in which it does not: %t", rule.Alert, fired[rule.Alert], silent[rule.Alert])
		}
	}
}

func TestTheDashboardNamesMetricsThatExist(t *testing.T) {
	text, err := os.ReadFile(dashboardFile)
	if err != nil {
		t.Fatal(err)
	}

	var dashboard struct {
		Panels []struct {
			ID      int
			Type    string
			Title   string
			Targets []struct{ Expr string }
		}
	}
	if err := json.Unmarshal(text, &dashboard); err != nil {
		t.Fatal(err)
	}

	ids, shown := map[int]bool{}, strings.Builder{}

	for _, panel := range dashboard.Panels {
		if ids[panel.ID] {
			t.Errorf("panel %q has the id of another", panel.Title)
		}
		ids[panel.ID] = true

		if panel.Type != "row" && len(panel.Targets) == 0 {
			t.Errorf("panel %q shows nothing", panel.Title)
		}

		for _, target := range panel.Targets {
			shown.WriteString(target.Expr + "\n")

			if unknown := unknownMetrics(target.Expr); len(unknown) > 0 {
				t.Errorf("panel %q: %q names %v, which nothing shows", panel.Title, target.Expr, unknown)
			}
		}
	}

	if !metricName.MatchString(shown.String()) {
		t.Error("the dashboard shows no metric of Ratchet")
	}
}

// promtool returns Prometheus' own tool. Without it the test is skipped.
func promtool(t *testing.T) string {
	t.Helper()

	path, err := exec.LookPath("promtool")
	if err != nil {
		t.Skip("promtool is not installed (Debian: apt-get install prometheus); `make alerts` needs it")
	}

	return path
}

// passesPromtool has a scrape parsed by promtool, which also knows the conventions for names.
func (s *system) passesPromtool(t *testing.T) {
	check := exec.CommandContext(t.Context(), promtool(t), "check", "metrics")
	check.Stdin = bytes.NewReader(s.page(t))

	if out, err := check.CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("promtool check metrics: %v\n%s", err, out)
	}
}

// TestPromtoolAcceptsTheRules runs Prometheus' own checks where promtool is installed; `make
// alerts`, which .ci/run calls, needs it.
func TestPromtoolAcceptsTheRules(t *testing.T) {
	tool := promtool(t)

	for _, args := range [][]string{{"check", "rules", alertsFile}, {"test", "rules", alertTestsFile}} {
		if out, err := exec.CommandContext(t.Context(), tool, args...).CombinedOutput(); err != nil {
			t.Errorf("promtool %s: %v\n%s", strings.Join(args, " "), err, out)
		}
	}
}
