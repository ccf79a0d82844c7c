package actions_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ratchet/embedded/embeddedtest"
	"ratchet/once/actions"
)

// rotated opens the same table with a new signing key in front of the ring.
func (s *signedActions) rotated(t testing.TB) *actions.Actions {
	t.Helper()

	return s.with(t, func(cfg *actions.Config) {
		cfg.Keys = append([]actions.Key{actions.NewKey(2)}, cfg.Keys...)
	})
}

func TestAWinnerGetsTheSameAnswerAfterARotation(t *testing.T) {
	for _, maxAttempts := range []int{1, 3} {
		t.Run(fmt.Sprintf("%d tries", maxAttempts), func(t *testing.T) {
			s := newSignedActions(t)
			after := s.rotated(t)

			made, err := s.Create(t.Context(), actions.Spec{PIN: "4711", MaxAttempts: maxAttempts, ExpiresAt: start.Add(time.Hour), Payload: []byte(`{"x":1}`)})
			if err != nil {
				t.Fatal(err)
			}

			for n := range maxAttempts - 1 { // the winner's try is the last one
				s.want(t, actions.Request{ID: made.ID, PIN: "0000", ConsumeID: fmt.Sprint("guess", n)}, actions.InvalidPIN)
			}
			request := actions.Request{ID: made.ID, PIN: "4711", ConsumeID: "winner"}
			s.want(t, request, actions.Consumed)

			again, err := after.Consume(t.Context(), request)
			if err != nil || again.Outcome != actions.Consumed || !again.Replayed || string(again.Payload) != `{"x":1}` {
				t.Errorf("the winner's repeat: %+v, %v", again, err)
			}
		})
	}
}

func TestAHolderConsumesAfterARotation(t *testing.T) {
	s := newSignedActions(t)
	after := s.rotated(t)

	made, err := s.Create(t.Context(), actions.Spec{PIN: "4711", MaxAttempts: 1, ExpiresAt: start.Add(time.Hour)})
	if err != nil {
		t.Fatal(err)
	}

	held, err := s.Reserve(t.Context(), actions.Request{ID: made.ID, PIN: "4711", Holder: "h"}, time.Minute)
	if err != nil || held.Outcome != actions.Reserved {
		t.Fatalf("%+v, %v", held, err)
	}

	used, err := after.Consume(t.Context(), actions.Request{ID: made.ID, PIN: "4711", Holder: "h", Fence: held.Fence})
	if err != nil || used.Outcome != actions.Consumed {
		t.Errorf("the holder's consumption: %+v, %v", used, err)
	}
}

// A rotation gives no caller another try, and takes none from the others.
func TestATryCountsOnceAcrossARotation(t *testing.T) {
	s := newSignedActions(t)
	after := s.rotated(t)

	made, err := s.Create(t.Context(), actions.Spec{PIN: "4711", MaxAttempts: 2, ExpiresAt: start.Add(time.Hour)})
	if err != nil {
		t.Fatal(err)
	}

	guess := actions.Request{ID: made.ID, PIN: "0000", ConsumeID: "guess"}
	s.want(t, guess, actions.InvalidPIN)

	s.keys = append([]actions.Key{actions.NewKey(2)}, s.keys...)
	twice := s.with(t, func(cfg *actions.Config) { cfg.Keys = append([]actions.Key{actions.NewKey(3)}, s.keys...) })

	for _, all := range []*actions.Actions{after, after, twice} {
		if r, err := all.Consume(t.Context(), guess); err != nil || r.Outcome != actions.InvalidPIN {
			t.Fatalf("the repeated guess: %+v, %v", r, err)
		}
	}

	if r, err := after.Consume(t.Context(), actions.Request{ID: made.ID, PIN: "1111", ConsumeID: "other"}); err != nil || r.Outcome != actions.InvalidPIN {
		t.Errorf("the second guess: %+v, %v", r, err)
	}

	if r, err := after.Consume(t.Context(), actions.Request{ID: made.ID, PIN: "4711", ConsumeID: "late"}); err != nil || r.Outcome != actions.Locked {
		t.Errorf("the third guess: %+v, %v", r, err)
	}
}

// The PIN is compared between two writes. If the code is deleted and created again in
// between, the new action has another PIN, and the old one must not open it.
func TestAPINOpensOnlyTheActionItWasComparedWith(t *testing.T) {
	s := newSignedActions(t)
	spec := actions.Spec{Code: "SPRING-26", PIN: "4711", ExpiresAt: start.Add(time.Hour)}

	if _, err := s.Create(t.Context(), spec); err != nil {
		t.Fatal(err)
	}

	updates := 0
	s.transport.Before(func(c *embeddedtest.Call) error {
		if !c.Is("UpdateItem") {
			return nil
		}

		if updates++; updates != 2 {
			return nil
		}

		return s.replace(t, spec, "0815")
	})

	r, err := s.Consume(t.Context(), actions.Request{ID: "SPRING-26", PIN: "4711"})
	if err != nil || r.Outcome != actions.InvalidPIN {
		t.Errorf("the PIN of the deleted action: %+v, %v", r, err)
	}
	s.transport.Clear()
	s.want(t, actions.Request{ID: "SPRING-26", PIN: "0815"}, actions.Consumed)
}

// replace deletes all items and creates the action with another PIN.
func (s *signedActions) replace(t testing.TB, spec actions.Spec, pin actions.PIN) error {
	t.Helper()

	out, err := s.db.Scan(t.Context(), &dynamodb.ScanInput{TableName: aws.String("actions")})
	if err != nil {
		return err
	}

	for _, item := range out.Items {
		for name := range item {
			if name != "actionId" {
				delete(item, name)
			}
		}

		if _, err := s.db.DeleteItem(t.Context(), &dynamodb.DeleteItemInput{TableName: aws.String("actions"), Key: item}); err != nil {
			return err
		}
	}
	spec.PIN = pin
	_, err = s.Create(t.Context(), spec)

	return err
}
