package file_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ratchet/workflow"
	"ratchet/workflow/file"
)

func TestContentListsTheParts(t *testing.T) {
	rows := []struct {
		content string
		want    []workflow.Part
	}{
		{"", workflow.Parts()},
		{"content: []\n", nil},
		{"content: [customer, metadata]\n", []workflow.Part{workflow.PartCustomer, workflow.PartMetadata}},
	}
	for _, row := range rows {
		d, err := file.Parse("d.yaml", []byte(strings.Replace(smallFile, "states:", row.content+"states:", 1)))
		if err != nil {
			t.Fatal(err)
		}

		again, err := file.Parse("again.yaml", []byte(file.Format(d)))
		if err != nil {
			t.Fatal(err)
		}

		for _, d := range []*workflow.Definition{d, again} {
			var has []workflow.Part
			for _, p := range workflow.Parts() {
				if d.Has(p) {
					has = append(has, p)
				}
			}

			if diff := cmp.Diff(row.want, has); diff != "" {
				t.Errorf("%q: (-want +got):\n%s", row.content, diff)
			}
		}
	}
}

func TestAWrongPartIsRefusedWithItsLine(t *testing.T) {
	for content, want := range map[string]string{
		"content: [price]\n":        `d.yaml:5: workflow "door" version 1: content: "price" is no part of an aggregate; the parts are [items total`,
		"content: [total, total]\n": `d.yaml:5: workflow "door" version 1: content: total is listed twice`,
		"content: total\n":          "d.yaml:5: content: want a list, got a string",
	} {
		_, err := file.Parse("d.yaml", []byte(strings.Replace(smallFile, "states:", content+"states:", 1)))
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: error %v, want one that begins with %q", content, err, want)
		}
	}
}
