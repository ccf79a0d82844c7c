package telemetry

import (
	"errors"
	"fmt"
	"testing"

	"ratchet/notify"
	"ratchet/payments"
)

// TestErrorsHaveTheirClasses: a class contains nothing of an error's text.
func TestErrorsHaveTheirClasses(t *testing.T) {
	for _, test := range []struct {
		err  error
		want string
	}{
		{nil, ""},
		{fmt.Errorf("%w: no address of Erika", notify.ErrSkipped), "skipped"},
		{fmt.Errorf("%w: 550 Erika is unknown", notify.ErrRejected), "rejected"},
		{payments.ErrTimeout, "timeout"},
		{errors.New("Erika"), "_OTHER"},
	} {
		if got := errorClass(test.err); got != test.want {
			t.Errorf("%v is %q, want %q", test.err, got, test.want)
		}
	}
}
