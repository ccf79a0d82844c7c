package stepfunctions

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sfn"
	"github.com/aws/aws-sdk-go-v2/service/sfn/types"
)

// TestEncryptionIsKept: machines and activities describe a customer's key, also after a restart. An activity
// keeps the key that it has.
// Source: https://docs.aws.amazon.com/step-functions/latest/apireference/API_CreateActivity.html, ActivityAlreadyExists
func TestEncryptionIsKept(t *testing.T) {
	dir := t.TempDir()
	b := open(t, dir)
	key := &types.EncryptionConfiguration{Type: types.EncryptionTypeCustomerManagedKmsKey, KmsKeyId: aws.String("alias/k"), KmsDataKeyReusePeriodSeconds: aws.Int32(60)}

	activity, err := b.CreateActivity(t.Context(), &sfn.CreateActivityInput{Name: aws.String("a"), EncryptionConfiguration: key})
	if err != nil {
		t.Fatal(err)
	}

	machine, err := b.CreateStateMachine(t.Context(), &sfn.CreateStateMachineInput{Name: aws.String("m"), RoleArn: aws.String("arn:aws:iam::1:role/r"), Definition: passing(1), EncryptionConfiguration: key})
	if err != nil {
		t.Fatal(err)
	}

	if _, err := b.CreateActivity(t.Context(), &sfn.CreateActivityInput{Name: aws.String("a"), EncryptionConfiguration: key}); err != nil {
		t.Errorf("the same activity again: %v", err)
	}

	other := &types.EncryptionConfiguration{Type: types.EncryptionTypeAwsOwnedKey}
	if _, err := b.CreateActivity(t.Context(), &sfn.CreateActivityInput{Name: aws.String("a"), EncryptionConfiguration: other}); code(err) != "ActivityAlreadyExists" {
		t.Errorf("the activity with another key: %v", err)
	}

	b.stop()
	b = open(t, dir)

	a, err := b.DescribeActivity(t.Context(), &sfn.DescribeActivityInput{ActivityArn: activity.ActivityArn})
	if err != nil {
		t.Fatal(err)
	}

	m, err := b.DescribeStateMachine(t.Context(), &sfn.DescribeStateMachineInput{StateMachineArn: machine.StateMachineArn})
	if err != nil {
		t.Fatal(err)
	}

	for _, got := range []*types.EncryptionConfiguration{a.EncryptionConfiguration, m.EncryptionConfiguration} {
		if got.Type != key.Type || *got.KmsKeyId != *key.KmsKeyId || *got.KmsDataKeyReusePeriodSeconds != 60 {
			t.Errorf("described as %+v", got)
		}
	}
}

// TestAnUpdateThatPublishesMakesAVersion: another description and another tracing are another version; the
// same update again is not.
// Source of the last: LocalStack's recordings of AWS (test_empty_revision_with_publish_and_publish_on_creation)
func TestAnUpdateThatPublishesMakesAVersion(t *testing.T) {
	b := open(t, t.TempDir())

	out, err := b.CreateStateMachine(t.Context(), &sfn.CreateStateMachineInput{Name: aws.String("m"), RoleArn: aws.String("arn:aws:iam::1:role/r"), Definition: passing(1), Publish: true})
	if err != nil {
		t.Fatal(err)
	}
	arn := *out.StateMachineArn

	for n, row := range []struct {
		in   sfn.UpdateStateMachineInput
		want string
	}{
		{sfn.UpdateStateMachineInput{Definition: passing(1)}, ":1"},
		{sfn.UpdateStateMachineInput{Definition: passing(1), VersionDescription: aws.String("two")}, ":2"},
		{sfn.UpdateStateMachineInput{Definition: passing(1), VersionDescription: aws.String("two")}, ":2"},
		{sfn.UpdateStateMachineInput{Definition: passing(1)}, ":2"},
		{sfn.UpdateStateMachineInput{TracingConfiguration: &types.TracingConfiguration{Enabled: true}}, ":3"},
		{sfn.UpdateStateMachineInput{TracingConfiguration: &types.TracingConfiguration{Enabled: true}}, ":3"},
	} {
		row.in.StateMachineArn, row.in.Publish = &arn, true

		got, err := b.UpdateStateMachine(t.Context(), &row.in)
		if err != nil || *got.StateMachineVersionArn != arn+row.want {
			t.Errorf("update %d: %v, %v; want version %s", n, got, err, row.want)
		}
	}

	two, err := b.DescribeStateMachine(t.Context(), &sfn.DescribeStateMachineInput{StateMachineArn: aws.String(arn + ":2")})
	if err != nil || *two.Description != "two" {
		t.Errorf("version 2: %+v, %v", two, err)
	}
}
