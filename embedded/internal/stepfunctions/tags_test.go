package stepfunctions

import (
	"fmt"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sfn"
	"github.com/aws/aws-sdk-go-v2/service/sfn/types"
)

// tagsOf returns tags as "key=value".
func (b *bench) tagsOf(arn string) string {
	b.t.Helper()

	out, err := b.ListTagsForResource(b.t.Context(), &sfn.ListTagsForResourceInput{ResourceArn: &arn})
	if err != nil {
		b.t.Fatal(err)
	}

	texts := make([]string, len(out.Tags))
	for i, each := range out.Tags {
		texts[i] = *each.Key + "=" + *each.Value
	}

	return strings.Join(texts, " ")
}

func pairs(texts ...string) (list []types.Tag) {
	for _, text := range texts {
		key, value, _ := strings.Cut(text, "=")
		list = append(list, types.Tag{Key: &key, Value: &value})
	}

	return list
}

// Machines and activities keep their tags across a restart, and creating one again does
// not change them.
// Source: https://docs.aws.amazon.com/step-functions/latest/apireference/API_CreateActivity.html
func TestTags(t *testing.T) {
	dir := t.TempDir()
	b := open(t, dir)
	definition := `{"StartAt":"A","States":{"A":{"Type":"Succeed"}}}`

	m, err := b.CreateStateMachine(t.Context(), &sfn.CreateStateMachineInput{
		Name: aws.String("m"), Definition: &definition, RoleArn: aws.String("arn:aws:iam::000000000000:role/r"), Tags: pairs("a=1", "b=2"),
	})
	if err != nil {
		t.Fatal(err)
	}

	a, err := b.CreateActivity(t.Context(), &sfn.CreateActivityInput{Name: aws.String("w"), Tags: pairs("a=1", "b=2")})
	if err != nil {
		t.Fatal(err)
	}

	for _, arn := range []string{*m.StateMachineArn, *a.ActivityArn} {
		if _, err := b.TagResource(t.Context(), &sfn.TagResourceInput{ResourceArn: &arn, Tags: pairs("b=", "c=3")}); err != nil {
			t.Fatal(err)
		}

		if _, err := b.UntagResource(t.Context(), &sfn.UntagResourceInput{ResourceArn: &arn, TagKeys: []string{"a", "none"}}); err != nil {
			t.Fatal(err)
		}
	}

	if _, err := b.CreateActivity(t.Context(), &sfn.CreateActivityInput{Name: aws.String("w"), Tags: pairs("z=9")}); err != nil {
		t.Fatal(err)
	}

	b.stop()
	b = open(t, dir)

	for _, arn := range []string{*m.StateMachineArn, *a.ActivityArn} {
		if got := b.tagsOf(arn); got != "b= c=3" {
			t.Errorf("%s has %q", arn, got)
		}
	}
}

func TestTagsThatAreRefused(t *testing.T) {
	b := open(t, t.TempDir())
	machine := b.machine("m", `{"StartAt":"A","States":{"A":{"Type":"Succeed"}}}`)

	full := make([]string, 50)
	for i := range full {
		full[i] = fmt.Sprintf("k%d=v", i)
	}

	if _, err := b.TagResource(t.Context(), &sfn.TagResourceInput{ResourceArn: &machine, Tags: pairs(full...)}); err != nil {
		t.Fatal(err)
	}

	for _, row := range []struct {
		is, arn string
		tags    []types.Tag
		want    string
	}{
		{"one tag too many", machine, pairs("new=1"), "TooManyTags"},
		{"no key", machine, pairs("=1"), "ValidationException"},
		{"a key of AWS", machine, pairs("aws:x=1"), "ValidationException"},
		{"a long key", machine, pairs(strings.Repeat("k", 129) + "=1"), "ValidationException"},
		{"a long value", machine, pairs("k1=" + strings.Repeat("v", 257)), "ValidationException"},
		{"a character that is not allowed", machine, pairs("k1=a&b"), "ValidationException"},
		{"an unknown machine", machine + "x", pairs("a=1"), "ResourceNotFound"},
		{"a version", machine + ":1", pairs("a=1"), "ResourceNotFound"},
		{"an unknown activity", "arn:aws:states:us-east-1:000000000000:activity:no", pairs("a=1"), "ResourceNotFound"},
		{"no ARN", "machine", pairs("a=1"), "InvalidArn"},
	} {
		_, err := b.TagResource(t.Context(), &sfn.TagResourceInput{ResourceArn: &row.arn, Tags: row.tags})
		if code(err) != row.want {
			t.Errorf("%s: %v, want %s", row.is, err, row.want)
		}
	}

	// A new value of a tag that exists needs no further place.
	if _, err := b.TagResource(t.Context(), &sfn.TagResourceInput{ResourceArn: &machine, Tags: pairs("k1=new")}); err != nil {
		t.Error(err)
	}
}
