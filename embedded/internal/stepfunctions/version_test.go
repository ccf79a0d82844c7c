package stepfunctions

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sfn"
	"github.com/aws/aws-sdk-go-v2/service/sfn/types"
	"github.com/aws/smithy-go"
)

// passing is a definition whose output tells the revision.
func passing(n int) *string {
	return aws.String(fmt.Sprintf(`{"StartAt":"A","States":{"A":{"Type":"Pass","Result":%d,"End":true}}}`, n))
}

// update publishes another definition of the machine and returns the version's ARN.
func (b *bench) update(machine string, n int) string {
	b.t.Helper()

	out, err := b.UpdateStateMachine(b.t.Context(), &sfn.UpdateStateMachineInput{
		StateMachineArn: &machine, Definition: passing(n), Publish: true, VersionDescription: aws.String(fmt.Sprint("number ", n)),
	})
	if err != nil {
		b.t.Fatal(err)
	}

	return *out.StateMachineVersionArn
}

// alias creates an alias for versions and their weights.
func (b *bench) alias(name string, routes ...any) (string, error) {
	in := &sfn.CreateStateMachineAliasInput{Name: &name}
	for i := 0; i < len(routes); i += 2 {
		in.RoutingConfiguration = append(in.RoutingConfiguration, types.RoutingConfigurationListItem{
			StateMachineVersionArn: aws.String(routes[i].(string)), Weight: int32(routes[i+1].(int)),
		})
	}

	out, err := b.CreateStateMachineAlias(b.t.Context(), in)
	if err != nil {
		return "", err
	}

	return *out.StateMachineAliasArn, nil
}

func (b *bench) mustAlias(name string, routes ...any) string {
	b.t.Helper()

	arn, err := b.alias(name, routes...)
	if err != nil {
		b.t.Fatal(err)
	}

	return arn
}

// versions returns the last parts of the ARNs of a machine's versions.
func (b *bench) versions(machine string) (list []string) {
	b.t.Helper()

	pages := sfn.ListStateMachineVersionsInput{StateMachineArn: &machine, MaxResults: 1}
	for {
		out, err := b.ListStateMachineVersions(b.t.Context(), &pages)
		if err != nil {
			b.t.Fatal(err)
		}

		for _, v := range out.StateMachineVersions {
			list = append(list, strings.TrimPrefix(*v.StateMachineVersionArn, machine+":"))
		}

		if pages.NextToken = out.NextToken; out.NextToken == nil {
			return list
		}
	}
}

// Versions keep their revision, have numbers that are not used again, and are published once
// for each revision.
// Source: https://docs.aws.amazon.com/step-functions/latest/dg/concepts-state-machine-version.html
func TestVersions(t *testing.T) {
	dir := t.TempDir()
	b := open(t, dir)
	created, err := b.CreateStateMachine(t.Context(), &sfn.CreateStateMachineInput{
		Name: aws.String("m"), Definition: passing(1), RoleArn: aws.String("arn:aws:iam::000000000000:role/r"), Publish: true,
	})
	if err != nil {
		t.Fatal(err)
	}

	machine := *created.StateMachineArn
	first, second := *created.StateMachineVersionArn, b.update(machine, 2)

	if again := b.update(machine, 2); again != second {
		t.Errorf("the same definition is published again as %s", again)
	}

	if _, err := b.DeleteStateMachineVersion(t.Context(), &sfn.DeleteStateMachineVersionInput{StateMachineVersionArn: &second}); err != nil {
		t.Fatal(err)
	}

	b.stop()
	b = open(t, dir)

	third := b.update(machine, 3)
	if got := fmt.Sprint(b.versions(machine)); got != "[3 1]" || first != machine+":1" || third != machine+":3" {
		t.Errorf("versions %s, %s, %s", got, first, third)
	}

	for arn, want := range map[string]string{machine: "3", first: "1", third: "3"} {
		if out := aws.ToString(b.describe(b.start(arn, "", `{}`)).Output); out != want {
			t.Errorf("%s gives %s, want %s", arn, out, want)
		}
	}

	d, err := b.DescribeStateMachine(t.Context(), &sfn.DescribeStateMachineInput{StateMachineArn: &third})
	if err != nil {
		t.Fatal(err)
	}

	if *d.StateMachineArn != third || aws.ToString(d.Description) != "number 3" || *d.Definition != *passing(3) || d.RevisionId == nil {
		t.Errorf("version 3 is described as %s %s %s", *d.StateMachineArn, aws.ToString(d.Description), *d.Definition)
	}

	_, err = b.PublishStateMachineVersion(t.Context(), &sfn.PublishStateMachineVersionInput{StateMachineArn: &machine, RevisionId: aws.String("INITIAL")})
	want := "Failed to publish the State Machine version for revision INITIAL. The current State Machine revision is " + *d.RevisionId + "."

	if code(err) != "ConflictException" || !strings.Contains(err.Error(), want) {
		t.Errorf("another revision: %v", err)
	}
}

// An alias starts the versions that it names by their weights. Executions tell the version
// and the alias, and lists can be limited to them.
func TestAliases(t *testing.T) {
	dir := t.TempDir()
	b := open(t, dir)
	machine := b.machine("m", *passing(1))
	one, two := b.update(machine, 2), b.update(machine, 3)

	all, both := b.mustAlias("all", one, 100), b.mustAlias("both", one, 50, two, 50)
	if again := b.mustAlias("all", one, 100); again != all {
		t.Errorf("the same alias again is %s", again)
	}

	b.stop()
	b = open(t, dir)

	counts := map[string]int{}
	for range 40 {
		counts[aws.ToString(b.describe(b.start(both, "", `{}`)).Output)]++
	}

	if counts["2"] == 0 || counts["3"] == 0 || counts["2"]+counts["3"] != 40 {
		t.Errorf("both starts %v", counts)
	}

	execution := b.start(all, "e", `{}`)
	if d := b.describe(execution); aws.ToString(d.Output) != "2" || aws.ToString(d.StateMachineVersionArn) != one ||
		aws.ToString(d.StateMachineAliasArn) != all || *d.StateMachineArn != machine {
		t.Errorf("output %s of %s through %s", aws.ToString(d.Output), aws.ToString(d.StateMachineVersionArn), aws.ToString(d.StateMachineAliasArn))
	}

	h, err := b.GetExecutionHistory(t.Context(), &sfn.GetExecutionHistoryInput{ExecutionArn: &execution})
	if err != nil {
		t.Fatal(err)
	}

	if d := h.Events[0].ExecutionStartedEventDetails; aws.ToString(d.StateMachineAliasArn) != all || aws.ToString(d.StateMachineVersionArn) != one {
		t.Errorf("it was started by %s %s", aws.ToString(d.StateMachineAliasArn), aws.ToString(d.StateMachineVersionArn))
	}

	for arn, want := range map[string]int{machine: 41, all: 1, both: 40, one: counts["2"] + 1, two: counts["3"]} {
		out, err := b.ListExecutions(t.Context(), &sfn.ListExecutionsInput{StateMachineArn: &arn})
		if err != nil || len(out.Executions) != want {
			t.Errorf("%s has %d executions, want %d: %v", arn, len(out.Executions), want, err)
		}
	}

	// A version that an alias names stays. A version that the alias named before can go.
	_, err = b.DeleteStateMachineVersion(t.Context(), &sfn.DeleteStateMachineVersionInput{StateMachineVersionArn: &two})
	if code(err) != "ConflictException" || !strings.Contains(err.Error(), "Current list of aliases referencing this version: [both]") {
		t.Errorf("delete a version in use: %v", err)
	}

	if _, err := b.UpdateStateMachineAlias(t.Context(), &sfn.UpdateStateMachineAliasInput{
		StateMachineAliasArn: &both, Description: aws.String("d"),
		RoutingConfiguration: []types.RoutingConfigurationListItem{{StateMachineVersionArn: &one, Weight: 100}},
	}); err != nil {
		t.Fatal(err)
	}

	d, err := b.DescribeStateMachineAlias(t.Context(), &sfn.DescribeStateMachineAliasInput{StateMachineAliasArn: &both})
	if err != nil || *d.Name != "both" || *d.Description != "d" || len(d.RoutingConfiguration) != 1 ||
		*d.RoutingConfiguration[0].StateMachineVersionArn != one || d.RoutingConfiguration[0].Weight != 100 {
		t.Errorf("%+v %v", d, err)
	}

	if _, err := b.DeleteStateMachineVersion(t.Context(), &sfn.DeleteStateMachineVersionInput{StateMachineVersionArn: &two}); err != nil {
		t.Error(err)
	}

	for range 2 { // deleting an alias again succeeds
		if _, err := b.DeleteStateMachineAlias(t.Context(), &sfn.DeleteStateMachineAliasInput{StateMachineAliasArn: &all}); err != nil {
			t.Error(err)
		}
	}

	list, err := b.ListStateMachineAliases(t.Context(), &sfn.ListStateMachineAliasesInput{StateMachineArn: &one})
	if err != nil || len(list.StateMachineAliases) != 1 || *list.StateMachineAliases[0].StateMachineAliasArn != both {
		t.Errorf("%+v %v", list, err)
	}

	_, err = b.StartExecution(t.Context(), &sfn.StartExecutionInput{StateMachineArn: &all})
	if code(err) != "StateMachineDoesNotExist" {
		t.Errorf("start a deleted alias: %v", err)
	}
}

// TestAliasesThatAreRefused compares texts with the texts that were recorded on AWS.
// Source: https://github.com/localstack/localstack tests/aws/services/stepfunctions/v2,
// test_sfn_api_aliasing and test_sfn_api_versioning.
func TestAliasesThatAreRefused(t *testing.T) {
	b := open(t, t.TempDir())
	machine := b.machine("m", *passing(1))
	one, two := b.update(machine, 2), b.update(machine, 3)
	b.mustAlias("taken", one, 100)

	for _, row := range []struct {
		is, name string
		routes   []any
		want     string
	}{
		{"a machine", "a", []any{machine, 100}, "ValidationException: Routing configuration must contain state machine version ARNs. Received: [" + machine + "]"},
		{"the same name for other versions", "taken", []any{two, 100}, "ConflictException: Failed to create alias because an alias with the same name and a different routing configuration already exists."},
		{"three versions", "a", []any{one, 50, two, 30, one, 20}, "weight=20)]' at 'routingConfiguration' failed to satisfy constraint: Member must have length less than or equal to 2"},
		{"one version twice", "a", []any{one, 50, one, 50}, "ValidationException: Routing configuration must contain distinct state machine version ARNs. Received: [" + one + ", " + one + "]"},
		{"a weight above 100", "a", []any{one, 101}, "Value '101' at 'routingConfiguration.1.member.weight' failed to satisfy constraint: Member must have value less than or equal to 100"},
		{"weights below 100 in sum", "a", []any{one, 70, two, 29}, "ValidationException: Sum of routing configuration weights must equal 100. Received: [70, 29]"},
		{"a number as name", "123", []any{one, 100}, `Value '123' at 'name' failed to satisfy constraint: Member must satisfy regular expression pattern: ^(?=.*[a-zA-Z_\-\.])[a-zA-Z0-9_\-\.]+$`},
		{"a name with a space", "A B", []any{one, 100}, "Value 'A B' at 'name' failed to satisfy constraint: Member must satisfy regular expression pattern"},
		{"a long name", strings.Repeat("A", 81), []any{one, 100}, "at 'name' failed to satisfy constraint: Member must have length less than or equal to 80"},
		{"an unknown version", "a", []any{machine + ":9", 100}, "ResourceNotFound: Request references a resource that does not exist."},
	} {
		_, err := b.alias(row.name, row.routes...)

		var api smithy.APIError
		if !errors.As(err, &api) || !strings.Contains(api.ErrorCode()+": "+api.ErrorMessage(), row.want) {
			t.Errorf("%s: %v, want %s", row.is, err, row.want)
		}
	}

	_, err := b.UpdateStateMachineAlias(t.Context(), &sfn.UpdateStateMachineAliasInput{
		StateMachineAliasArn: aws.String(machine + ":none"), Description: aws.String("d"),
	})
	if code(err) != "ResourceNotFound" {
		t.Errorf("update an unknown alias: %v", err)
	}

	_, err = b.CreateStateMachine(t.Context(), &sfn.CreateStateMachineInput{
		Name: aws.String("n"), Definition: passing(1), RoleArn: aws.String("r"), VersionDescription: aws.String("d"),
	})
	if code(err) != "ValidationException" || !strings.Contains(err.Error(), "Version description can only be set when publish is true") {
		t.Errorf("a description without a version: %v", err)
	}

	_, err = b.UpdateStateMachine(t.Context(), &sfn.UpdateStateMachineInput{StateMachineArn: &one, Definition: passing(9)})
	if code(err) != "StateMachineDoesNotExist" {
		t.Errorf("update a version: %v", err)
	}
}

// The token of a page is one of the list that gave it out.
func TestAPageTokenIsOfItsList(t *testing.T) {
	b := open(t, t.TempDir())

	var tokens []*string
	for _, name := range []string{"one", "two"} {
		machine := b.machine(name, *passing(1))
		b.start(machine, "a", `{}`)
		b.start(machine, "b", `{}`)

		out, err := b.ListExecutions(t.Context(), &sfn.ListExecutionsInput{StateMachineArn: &machine, MaxResults: 1})
		if err != nil || out.NextToken == nil {
			t.Fatal(out, err)
		}
		tokens = append(tokens, out.NextToken)

		_, err = b.ListExecutions(t.Context(), &sfn.ListExecutionsInput{StateMachineArn: &machine, NextToken: tokens[0]})
		if want := map[string]string{"one": "<nil>", "two": "InvalidToken"}[name]; code(err) != want {
			t.Errorf("%s: %v", name, err)
		}
	}
}
