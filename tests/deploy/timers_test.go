package deploy

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestTimedTransitionsHaveAnAlarm: of both templates, if time makes transitions. It watches the table in which workers look
// for what is due, and the processes get the setting by which time makes them.
func TestTimedTransitionsHaveAnAlarm(t *testing.T) {
	const name = "timers-late"

	dir := t.TempDir()
	for _, kind := range []string{"cloudformation", "terraform"} {
		if output, err := program(t, "deploy", kind, "--expire-unpaid", "336h", "--out", filepath.Join(dir, kind)); err != nil {
			t.Fatalf("%v: %s", err, output)
		}
	}

	cloudFormation := alarmsOf(t, readTemplateIn(t, filepath.Join(dir, "cloudformation"), "alarms.yaml", nil))[name]
	terraform := decodeValue[map[string]alarm](t, readTerraformIn(t, filepath.Join(dir, "terraform")).local["alarms"])[name]

	if diff := cmp.Diff(cloudFormation, terraform); diff != "" {
		t.Errorf("alarms of CloudFormation (-) and Terraform (+):\n%s", diff)
	}

	if watched := cloudFormation.Dimensions["TableName"]; watched != prefix+"orders-due" {
		t.Errorf("the alarm for what is due watches %q", watched)
	}

	for kind, file := range map[string]string{"cloudformation": "service.yaml", "terraform": "service.tf"} {
		if text := filesIn(t, filepath.Join(dir, kind))[file]; !strings.Contains(text, "RATCHET_EXPIRE_UNPAID") || !strings.Contains(text, "336h0m0s") {
			t.Errorf("%s: the processes do not get the setting", file)
		}
	}

	if usual := decodeValue[map[string]alarm](t, readTerraform(t).local["alarms"]); usual[name].Metric != "" {
		t.Error("an installation without timed transitions has the alarm, which would always be on")
	}
}
