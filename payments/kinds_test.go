package payments_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ratchet/internal/dynamo"
)

// TestARecordOfAnotherTypeIsAnError: without a step, its amounts or its end, a payment would be taken or given back
// twice. The record stays as it is.
func TestARecordOfAnotherTypeIsAnError(t *testing.T) {
	for _, name := range []string{"steps", "captured", "refunded", "capturable", "expiresAt", "state", "canceled", "pending", "revision"} {
		s := newSeller(t)
		s.authorized(t, "p", 1000)

		if _, err := s.Capture(t.Context(), "p", ask("c", 300)); err != nil {
			t.Fatal(err)
		}
		key := dynamo.Item{"paymentId": dynamo.S("p")}

		wrong := dynamo.SS("x") // no attribute of a payment is a set

		if _, err := s.direct.UpdateItem(t.Context(), dynamo.NewUpdate("payments", key).SetValue(name, wrong).Input()); err != nil {
			t.Fatal(err)
		}

		_, read := s.Get(t.Context(), "p")
		_, capture := s.Capture(t.Context(), "p", ask("c", 300))
		_, refund := s.Refund(t.Context(), "p", ask("r", 300))
		_, cancel := s.Cancel(t.Context(), "p")
		_, authorize := s.Authorize(t.Context(), of("p", 1000))

		for verb, err := range map[string]error{"read": read, "capture": capture, "refund": refund, "cancel": cancel, "authorize": authorize} {
			if err == nil || !strings.Contains(err.Error(), "attribute "+name+" is not of type") {
				t.Errorf("%s: %s: %v", name, verb, err)
			}
		}

		out, err := s.direct.GetItem(t.Context(), &dynamodb.GetItemInput{TableName: aws.String("payments"), Key: key})
		if err != nil || dynamo.Number(out.Item, "amount") != 1000 || !reflect.DeepEqual(out.Item[name], wrong) {
			t.Errorf("%s: the record was overwritten: %v, %v", name, out.Item, err)
		}
	}
}
