package actions_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/once/actions"
)

// TestAnExpiredActionIsNotReleased: a hold ends with its action, whatever its own time.
func TestAnExpiredActionIsNotReleased(t *testing.T) {
	s := newSignedActions(t)
	made := s.make(t, func(spec *actions.Spec) { spec.ExpiresAt = s.clock.Now().Add(time.Minute) })
	request := actions.Request{ID: made.ID, Holder: "h"}

	held, err := s.Reserve(t.Context(), request, 10*time.Minute)
	outcome(t, held, err, actions.Reserved)
	s.clock.Advance(2 * time.Minute)

	request.Fence = held.Fence
	released, err := s.Release(t.Context(), request)
	outcome(t, released, err, actions.Expired)
}

func TestAPINWhoseKeyIsGoneIsNotCompared(t *testing.T) {
	s := newSignedActions(t)
	old := s.make(t, withPIN)
	s.setAttribute(t, old.ID, "pinKey", &types.AttributeValueMemberN{Value: "7"})

	if r, err := s.Consume(t.Context(), actions.Request{ID: old.ID, PIN: "1234", ConsumeID: "c"}); !errors.Is(err, actions.ErrNoKey) {
		t.Errorf("%s, %v", r.Outcome, err)
	}
}

// setAttribute changes the stored item behind the package's back; a nil value removes the
// attribute.
func (s *signedActions) setAttribute(t *testing.T, id actions.ID, name string, v types.AttributeValue) {
	t.Helper()

	out, err := s.db.Scan(t.Context(), &dynamodb.ScanInput{TableName: aws.String("actions")})
	if err != nil || len(out.Items) != 1 {
		t.Fatalf("%d items, %v; want that of %s alone", len(out.Items), err, id)
	}

	item := out.Items[0]
	if delete(item, name); v != nil {
		item[name] = v
	}

	if _, err := s.db.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: aws.String("actions"), Item: item}); err != nil {
		t.Fatal(err)
	}
}

// TestAnItemThatCannotBeReadIsAnError: a guess could use an action twice.
func TestAnItemThatCannotBeReadIsAnError(t *testing.T) {
	for name, damage := range map[string]func(*testing.T, *signedActions, actions.ID){
		"an unknown status": func(t *testing.T, s *signedActions, id actions.ID) {
			t.Helper()
			s.setAttribute(t, id, "status", &types.AttributeValueMemberS{Value: "LOST"})
		},
		"no expiry": func(t *testing.T, s *signedActions, id actions.ID) {
			t.Helper()
			s.setAttribute(t, id, "expiresAt", nil)
		},
		"a payload of another type": func(t *testing.T, s *signedActions, id actions.ID) {
			t.Helper()
			s.setAttribute(t, id, "payload", &types.AttributeValueMemberS{Value: "{}"})
		},
		"a hash of a PIN of another type": func(t *testing.T, s *signedActions, id actions.ID) {
			t.Helper()
			s.setAttribute(t, id, "pinHash", &types.AttributeValueMemberS{Value: "x"})
		},
		"a hold of another type": func(t *testing.T, s *signedActions, id actions.ID) {
			t.Helper()
			s.setAttribute(t, id, "holdUntil", &types.AttributeValueMemberS{Value: "x"})
		},
		"no limit of PIN": func(t *testing.T, s *signedActions, id actions.ID) {
			t.Helper()
			s.setAttribute(t, id, "maxAttempts", nil)
		},
	} {
		for _, code := range []string{"", "SUMMER-24"} {
			s := newSignedActions(t)
			made := s.make(t, func(spec *actions.Spec) { spec.PIN, spec.Code = "1234", code })
			damage(t, s, made.ID)

			for verb, call := range verbs {
				if got, err := call(t.Context(), s, made.ID); verb != "create" && err == nil {
					t.Errorf("%s: %s: %q", name, verb, got)
				}
			}
		}
	}
}

func TestEveryFaultOfAConfigurationIsReported(t *testing.T) {
	key := actions.NewKey(1)

	_, err := actions.New(actions.Config{Keys: []actions.Key{key, key}, Retention: time.Minute, ReplayFor: -1})
	if err == nil {
		t.Fatal("no error")
	}

	for _, field := range []string{"DynamoDB", "Table", "Retention", "ReplayFor", "Keys"} {
		if !strings.Contains(err.Error(), "actions: Config."+field) {
			t.Errorf("%s is missing in\n%v", field, err)
		}
	}
}
