package deploy

import (
	"maps"
	"slices"
	"strings"
	"testing"
)

// TestNothingIsLostWithAStack: tables and queues stay when a stack is deleted or a change replaces them, and a table has
// the key that is given.
func TestNothingIsLostWithAStack(t *testing.T) {
	c := readTemplate(t, "core.yaml", map[string]string{"TableKey": "arn:key"})

	kept := 0
	resources := maps.Clone(c.resources)
	maps.Copy(resources, readTemplate(t, "lambda.yaml", map[string]string{"StreamImage": "i", "RequestsImage": "i", "OrdersStreamArn": "arn:s"}).resources)

	for name, resource := range resources {
		if kind := resource["Type"].Value; kind != "AWS::DynamoDB::Table" && kind != "AWS::SQS::Queue" {
			continue
		}

		for _, policy := range []string{"DeletionPolicy", "UpdateReplacePolicy"} {
			if resource[policy] == nil || resource[policy].Value != "Retain" {
				t.Errorf("%s is not kept: %s", name, policy)
			}
		}
		kept++
	}

	if kept < 20 {
		t.Errorf("only %d tables and queues", kept)
	}

	for name, properties := range c.ofType("AWS::DynamoDB::Table") {
		if encrypted := decode[struct{ KMSMasterKeyId string }](t, properties["SSESpecification"]); encrypted.KMSMasterKeyId != "arn:key" { //nolint:revive // the template's name
			t.Errorf("%s is encrypted with %v", name, encrypted)
		}
	}

	if own := readTemplate(t, "core.yaml", nil).ofType("AWS::DynamoDB::Table")["OrdersTable"]["SSESpecification"]; own != nil {
		t.Errorf("without a key: %v", own)
	}
}

// TestSecretsAreInTheTaskDefinition: those that are given, under the names of settings, and none as plain text.
func TestSecretsAreInTheTaskDefinition(t *testing.T) {
	given := map[string]string{"Image": "i", "Cluster": "c", "Subnets": "s", "SecurityGroups": "g", "WebhookSecret": "arn:w", "ActionKeys": "arn:a"}
	task := readTemplate(t, "service.yaml", given).ofType("AWS::ECS::TaskDefinition")["Task"]

	containers := decode[[]struct {
		Secrets     []struct{ Name, ValueFrom string }
		Environment []struct{ Name, Value string }
	}](t, task["ContainerDefinitions"])

	var names []string
	for _, s := range containers[0].Secrets {
		names = append(names, s.Name+"="+s.ValueFrom)
	}

	if want := []string{"RATCHET_WEBHOOK_SECRET=arn:w", "RATCHET_ACTION_KEYS=arn:a"}; !slices.Equal(names, want) {
		t.Errorf("%q", names)
	}

	for _, e := range containers[0].Environment {
		if strings.Contains(e.Name, "SECRET") || strings.Contains(e.Name, "KEYS") {
			t.Errorf("%s is plain text", e.Name)
		}
	}
}
