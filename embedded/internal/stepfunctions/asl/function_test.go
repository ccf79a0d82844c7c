package asl

import (
	"strings"
	"testing"
)

// A Resource is a function by its whole ARN, with or without a version or an alias.
func TestResourcesThatAreFunctions(t *testing.T) {
	for _, row := range []struct {
		resource string
		function bool
	}{
		{"arn:aws:lambda:us-east-1:000000000000:function:f", true},
		{"arn:aws:lambda:us-east-1:000000000000:function:f:7", true},
		{"arn:aws:lambda:us-east-1:000000000000:function:f:live", true},
		{"arn:aws:lambda:us-east-1:000000000000:function:f:$LATEST", true},
		{"arn:aws-cn:lambda:cn-north-1:000000000000:function:f", true},
		{"arn:aws:lambda:your-region:your-account-id:function:f", true},
		{"arn:aws:lambda:us-east-1:000000000000:function:", false},
		{"arn:aws:lambda:us-east-1:000000000000:function:f:", false},
		{"arn:aws:lambda:us-east-1:000000000000:function:f:1:2", false},
		{"arn:aws:lambda:us-east-1:000000000000:function:f g", false},
		{"arn:aws:lambda:us-east-1:000000000000:layer:f", false},
		{"000000000000:function:f", false},
		{"f", false},
	} {
		m, found := Parse([]byte(machineOf(`"A":{"Type":"Task","Resource":"` + row.resource + `","End":true}`)))

		switch {
		case !row.function:
			if err := found.Err(); err == nil || !strings.Contains(err.Error(), CodeResource) {
				t.Errorf("%s: %v", row.resource, err)
			}
		case m == nil:
			t.Errorf("%s: %v", row.resource, found.Err())
		default:
			if i := m.States[0].Integration; i.Function != row.resource || i.Callback || i.Sync {
				t.Errorf("%s: %+v", row.resource, i)
			}
		}
	}
}
