package worker_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/aws/smithy-go"

	"ratchet/internal/worker"
)

func TestPermanentMarksAnErrorAndKeepsIt(t *testing.T) {
	marked := worker.Permanent(errWork)
	wrapped := fmt.Errorf("step 2: %w", marked)

	if !worker.IsPermanent(marked) || !worker.IsPermanent(wrapped) {
		t.Error("a marked error is not permanent")
	}

	if marked.Error() != errWork.Error() || !errors.Is(wrapped, errWork) {
		t.Errorf("the mark hides the error: %v", wrapped)
	}

	if worker.IsPermanent(errWork) || worker.IsPermanent(nil) || worker.Permanent(nil) != nil {
		t.Error("an unmarked error is permanent")
	}
}

func TestARefusalIsAnAnswerThatAnOperatorMustEnd(t *testing.T) {
	for _, row := range []struct {
		is   string
		err  error
		want bool
	}{
		{is: "missing permission", err: &smithy.GenericAPIError{Code: "AccessDeniedException"}, want: true},
		{is: "wrapped", err: fmt.Errorf("poll: %w", &smithy.GenericAPIError{Code: "AccessDenied"}), want: true},
		{is: "one of the service's own codes", err: &smithy.GenericAPIError{Code: "NoSuchQueue"}, want: true},
		{is: "throttling", err: &smithy.GenericAPIError{Code: "ThrottlingException"}, want: false},
		{is: "no answer of the service", err: errWork, want: false},
		{is: "no error", err: nil, want: false},
	} {
		if got := worker.IsRefusal(row.err, "NoSuchQueue"); got != row.want {
			t.Errorf("%s: got %v", row.is, got)
		}
	}
}
