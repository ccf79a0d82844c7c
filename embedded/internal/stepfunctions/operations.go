package stepfunctions

import (
	"maps"

	"ratchet/embedded/internal/stepfunctions/requests"
	"ratchet/embedded/internal/wire"
)

// Wire returns the operations for wire.NewHandler.
func (s *Service) Wire() wire.Service {
	operations := s.ownOperations()
	for _, room := range []map[string]wire.Operation{s.machines.Operations(), s.activities.Operations(), s.runs.Operations()} {
		maps.Copy(operations, room)
	}

	return wire.Service{
		Target:        "AWSStepFunctions",
		MessageKey:    "message",
		InternalError: "InternalServerError",
		Operations:    operations,
	}
}

// ownOperations are the operations that no room below has.
func (s *Service) ownOperations() map[string]wire.Operation {
	return map[string]wire.Operation{
		"DeleteStateMachine": requests.Decoded(s.deleteStateMachine),
		// execution_*.go
		"StartExecution":                   s.startExecution,
		"StartSyncExecution":               requests.Decoded(s.startSync), // express.go
		"DescribeExecution":                requests.Decoded(s.describeExecution),
		"DescribeStateMachineForExecution": requests.Decoded(s.describeForExecution),
		"ListExecutions":                   requests.Decoded(s.listExecutions),
		"StopExecution":                    requests.Decoded(s.stopExecution),
		"RedriveExecution":                 requests.Decoded(s.redriveExecution),
		"GetExecutionHistory":              requests.Decoded(s.executionHistory),
		// maprun_list.go
		"ListMapRuns": requests.Decoded(s.listMapRuns),
		// teststate.go
		"TestState": requests.Decoded(s.testState),
		// tags.go
		"TagResource":         requests.Decoded(s.tagResource),
		"UntagResource":       requests.Decoded(s.untagResource),
		"ListTagsForResource": requests.Decoded(s.listTags),
		// poll.go, task.go. These and StartExecution read their few members without decoding
		// the documents.
		"GetActivityTask":   s.getActivityTask,
		"SendTaskSuccess":   s.sendTaskSuccess,
		"SendTaskFailure":   s.sendTaskFailure,
		"SendTaskHeartbeat": s.sendTaskHeartbeat,
	}
}
