package sqs

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// policy is an access policy as AddPermission writes it. The engine keeps policies and grants everything.
// Source: LocalStack's recordings of AWS (tests/aws/services/sqs, test_sqs_permission_lifecycle)
type policy struct {
	Version   string
	Id        string `json:",omitempty"` //nolint:revive // the name in the policy
	Statement []json.RawMessage
}

// isAction reports whether a permission may name an action: any operation, and "*". A permission for a batch has the
// name of the single operation.
// Sources: https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_AddPermission.html,
// https://github.com/cloudtools/awacs/issues/34 (batches, and the words of the refusal)
func (s *Service) isAction(name string) bool {
	// Operations that the engine refuses can be permitted, too.
	if name == "*" || slices.Contains([]string{"StartMessageMoveTask", "ListMessageMoveTasks", "CancelMessageMoveTask"}, name) {
		return true
	}

	return s.Wire().Operations[name] != nil && !strings.HasSuffix(name, "Batch")
}

type statement struct {
	Sid       string
	Effect    string
	Principal struct{ AWS any }
	Action    any
	Resource  string
}

// oneOrAll returns the only element of a list, or the list, as policies have them.
func oneOrAll(list []string) any {
	if len(list) == 1 {
		return list[0]
	}

	return list
}

// readPolicy returns the policy of the queue, an empty one if it has none.
func (q *queue) readPolicy() (p policy, err error) {
	if text := q.Attributes["Policy"]; text != "" {
		if err := json.Unmarshal([]byte(text), &p); err != nil {
			return p, fmt.Errorf("read the policy of queue %s: %w", q.Name, err)
		}
	}

	return p, nil
}

// label returns the Sid of a statement.
func label(raw json.RawMessage) string {
	var s struct{ Sid string }
	_ = json.Unmarshal(raw, &s) // a statement that is no object has no Sid

	return s.Sid
}

// setPolicy sets the policy of the queue. A policy without statements is none.
func (q *queue) setPolicy(p policy) error {
	q.Attributes = maps.Clone(q.Attributes)
	if len(p.Statement) == 0 {
		delete(q.Attributes, "Policy")
		return nil
	}

	text, err := json.Marshal(p)
	if err != nil {
		return fmt.Errorf("encode the policy of queue %s: %w", q.Name, err)
	}

	if q.Attributes == nil {
		q.Attributes = map[string]string{}
	}
	q.Attributes["Policy"] = string(text)

	return nil
}

func (s *Service) addPermission(_ context.Context, in *struct {
	QueueUrl      string //nolint:revive // the wire's name
	Label         string
	AWSAccountIDs []string `json:"AWSAccountIds"`
	Actions       []string
}) (any, error) {
	return s.editQueue(in.QueueUrl, func(q *queue) error {
		switch {
		case in.Label == "":
			return missingParameter("Label")
		case len(in.AWSAccountIDs) == 0:
			return missingParameter("AWSAccountIds")
		case len(in.Actions) == 0:
			return missingParameter("Actions")
		}

		for _, action := range in.Actions {
			if !s.isAction(action) {
				return invalidParameter("ActionName", "SQS:"+action, "Please refer to the appropriate WSDL for a list of valid actions.")
			}
		}

		p, err := q.readPolicy()
		if err != nil {
			return err
		}

		if slices.ContainsFunc(p.Statement, func(s json.RawMessage) bool { return label(s) == in.Label }) {
			return invalidParameter("Label", in.Label, "Already exists.")
		}

		if p.Version == "" {
			p.Version, p.Id = "2008-10-17", s.arn(q.Name)+"/SQSDefaultPolicy"
		}

		added := statement{Sid: in.Label, Effect: "Allow", Resource: s.arn(q.Name)}

		var principals, actions []string
		for _, account := range in.AWSAccountIDs {
			principals = append(principals, "arn:aws:iam::"+account+":root")
		}

		for _, action := range in.Actions {
			actions = append(actions, "SQS:"+action)
		}
		added.Principal.AWS, added.Action = oneOrAll(principals), oneOrAll(actions)

		raw, err := json.Marshal(added)
		if err != nil {
			return fmt.Errorf("encode a statement: %w", err)
		}
		p.Statement = append(p.Statement, raw)

		return q.setPolicy(p)
	})
}

func (s *Service) removePermission(_ context.Context, in *struct {
	QueueUrl string //nolint:revive // the wire's name
	Label    string
}) (any, error) {
	return s.editQueue(in.QueueUrl, func(q *queue) error {
		p, err := q.readPolicy()
		if err != nil {
			return err
		}

		// Source: LocalStack's recordings of AWS (tests/aws/services/sqs, test_sqs_permission_lifecycle)
		if len(p.Statement) == 0 {
			return invalidParameter("Label", in.Label, "can't find label.")
		}

		left := slices.DeleteFunc(slices.Clone(p.Statement), func(s json.RawMessage) bool { return label(s) == in.Label })
		if len(left) == len(p.Statement) {
			return invalidParameter("Label", in.Label, "can't find label on existing policy.")
		}
		p.Statement = left

		return q.setPolicy(p)
	})
}
