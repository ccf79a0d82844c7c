package stepfunctions

import (
	"fmt"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sfn"
	"github.com/aws/aws-sdk-go-v2/service/sfn/types"

	"ratchet/embedded/internal/stepfunctions/keys"
	"ratchet/embedded/internal/stepfunctions/pages"
)

// Creating an activity again returns the existing one, and it survives a restart.
func TestCreateActivityIsIdempotent(t *testing.T) {
	dir := t.TempDir()
	b := open(t, dir)
	activity := b.activity("work")

	first, err := b.DescribeActivity(t.Context(), &sfn.DescribeActivityInput{ActivityArn: &activity})
	if err != nil || *first.Name != "work" || *first.ActivityArn != activity {
		t.Fatal(first, err)
	}
	b.stop()

	b = open(t, dir)
	if again := b.activity("work"); again != activity {
		t.Errorf("created again: %s, want %s", again, activity)
	}

	second, err := b.DescribeActivity(t.Context(), &sfn.DescribeActivityInput{ActivityArn: &activity})
	if err != nil || !second.CreationDate.Equal(*first.CreationDate) {
		t.Errorf("created at %v, then at %v: %v", first.CreationDate, second.CreationDate, err)
	}
}

// A queued task of a deleted activity stays with its execution.
func TestDeleteActivityKeepsItsTasks(t *testing.T) {
	b := open(t, t.TempDir())
	activity := b.activity("work")
	arn := b.start(b.machine("m", task(activity, "")), "n", `{}`)
	remove := &sfn.DeleteActivityInput{ActivityArn: &activity}

	for range 2 { // deleting what does not exist succeeds
		if _, err := b.DeleteActivity(t.Context(), remove); err != nil {
			t.Fatal(err)
		}
	}

	_, err := b.DescribeActivity(t.Context(), &sfn.DescribeActivityInput{ActivityArn: &activity})
	if code(err) != "ActivityDoesNotExist" {
		t.Error(err)
	}

	if d := b.describe(arn); d.Status != types.ExecutionStatusRunning {
		t.Errorf("the execution is %s", d.Status)
	}

	b.activity("work")

	if err := b.succeed(b.poll(activity).TaskToken, `1`); err != nil {
		t.Error("after the activity was created again:", err)
	}
}

func TestListActivitiesInPages(t *testing.T) {
	b := open(t, t.TempDir())
	for i := range 5 {
		b.activity(fmt.Sprint("a", 4-i))
	}

	var names []string
	p := sfn.NewListActivitiesPaginator(b, &sfn.ListActivitiesInput{MaxResults: 2})
	for p.HasMorePages() {
		page, err := p.NextPage(t.Context())
		if err != nil {
			t.Fatal(err)
		}

		for _, a := range page.Activities {
			names = append(names, *a.Name)
		}
	}

	if fmt.Sprint(names) != "[a0 a1 a2 a3 a4]" {
		t.Errorf("listed %v", names)
	}

	first, err := b.ListActivities(t.Context(), &sfn.ListActivitiesInput{MaxResults: 2})
	if err != nil {
		t.Fatal(err)
	}

	for _, a := range []string{"a1", "a2"} {
		if _, err := b.DeleteActivity(t.Context(), &sfn.DeleteActivityInput{ActivityArn: aws.String(strings.TrimSuffix(*first.Activities[0].ActivityArn, "a0") + a)}); err != nil {
			t.Fatal(err)
		}
	}

	next, err := b.ListActivities(t.Context(), &sfn.ListActivitiesInput{MaxResults: 2, NextToken: first.NextToken})
	if err != nil || len(next.Activities) != 2 || *next.Activities[0].Name != "a3" {
		t.Errorf("after the activities around the page's start were deleted: %v, %v", next, err)
	}

	for name, in := range map[string]*sfn.ListActivitiesInput{
		"a token of another list": {NextToken: pages.Token(keys.Machine, 0, 1)},
		"a token that is none":    {NextToken: aws.String("x")},
	} {
		if _, err := b.ListActivities(t.Context(), in); code(err) != "InvalidToken" {
			t.Errorf("%s: %v", name, err)
		}
	}

	if _, err := b.ListActivities(t.Context(), &sfn.ListActivitiesInput{MaxResults: 1001}); code(err) != "ValidationException" {
		t.Errorf("a page over the limit: %v", err)
	}
}

func TestActivityRefusals(t *testing.T) {
	b := open(t, t.TempDir())

	for _, row := range []struct {
		name string
		in   *sfn.CreateActivityInput
		want string
	}{
		{
			name: "a name with a space",
			in:   &sfn.CreateActivityInput{Name: aws.String("a b")},
			want: "InvalidName",
		},
		{
			name: "a tag of AWS",
			in: &sfn.CreateActivityInput{
				Name: aws.String("a"),
				Tags: []types.Tag{{Key: aws.String("aws:k"), Value: aws.String("v")}},
			},
			want: "ValidationException",
		},
		{
			name: "a customer-managed key without its id",
			in: &sfn.CreateActivityInput{
				Name: aws.String("a"),
				EncryptionConfiguration: &types.EncryptionConfiguration{
					Type: types.EncryptionTypeCustomerManagedKmsKey,
				},
			},
			want: "InvalidEncryptionConfiguration",
		},
	} {
		if _, err := b.CreateActivity(t.Context(), row.in); code(err) != row.want {
			t.Errorf("%s: %v, want %s", row.name, err, row.want)
		}
	}
}

// TestAWorkersNameHasABound tries a name that is too long. What every other test polls with has blanks and signs that
// no name of a resource may have: a client library's own suite does that, and on AWS.
func TestAWorkersNameHasABound(t *testing.T) {
	b := open(t, t.TempDir())
	activity := b.activity("w")

	_, err := b.GetActivityTask(t.Context(), &sfn.GetActivityTaskInput{ActivityArn: &activity, WorkerName: aws.String(strings.Repeat("ä", 81))})
	if code(err) != "ValidationException" || !strings.Contains(err.Error(), "at 'workerName' failed to satisfy constraint") {
		t.Error(err)
	}
}
