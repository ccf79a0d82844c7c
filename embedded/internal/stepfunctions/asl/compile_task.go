package asl

import (
	"regexp"
	"strings"
	"sync"
)

// activityARN is the form of a Task's Resource.
var activityARN = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^arn:(aws|aws-cn|aws-us-gov):states:[a-z0-9-]+:\d{12}:activity:[^\s:]{1,80}$`)
})

// ForeignResource is the format of the fault for a Resource that the engine does not run.
const ForeignResource = "the embedded engine runs activities " +
	"(arn:aws:states:REGION:ACCOUNT:activity:NAME), functions (arn:aws:lambda:REGION:ACCOUNT:function:NAME) " +
	"and the service integrations of DynamoDB, SQS, Step Functions and Lambda " +
	"(like arn:aws:states:::aws-sdk:dynamodb:updateItem.waitForTaskToken), not %q"

func (b *builder) compileTask(s *State, o *object) {
	s.Resource = o.text("Resource")
	if s.Resource == "" {
		b.fault(codeSchema, o.at, "the field 'Resource' is required")
	} else if !activityARN().MatchString(s.Resource) {
		if s.Integration = parseFunction(s.Resource); s.Integration == nil {
			s.Integration = parseIntegration(s.Resource)
		}

		s.Foreign = s.Integration == nil
	}

	switch {
	// refusedByExpress comes first, because it reports a fault even for a Resource that the engine runs. A
	// test lets foreign Resources through: its mock answers them.
	case b.refusedByExpress(s, o) || !s.Foreign || b.tested:
	case unknownOperation(s.Resource):
		b.fault(codeSchema, o.at+"/Resource", unknownResource, s.Resource)
	default:
		b.fault(CodeResource, o.at+"/Resource", ForeignResource, s.Resource)
	}

	s.Timeout = o.seconds("TimeoutSeconds", 1, maxSeconds)
	s.Heartbeat = o.seconds("HeartbeatSeconds", 1, maxSeconds)
	// A limit that comes from the data is 0 here and is not compared.
	if s.Timeout.Value > 0 && s.Heartbeat.Value >= s.Timeout.Value {
		b.fault(codeSchema, o.at+"/HeartbeatSeconds", "HeartbeatSeconds must be smaller than TimeoutSeconds")
	}
}

// refusedByExpress reports a Resource that an Express machine may not have, with the service's text.
func (b *builder) refusedByExpress(s *State, o *object) bool {
	if !b.express {
		return false
	}

	at := o.at + "/Resource"
	switch {
	case activityARN().MatchString(s.Resource):
		b.fault(codeSchema, at, "Express state machine does not support Activity ARN")
	case strings.Contains(s.Resource, ".sync"):
		b.fault(codeSchema, at, "Express state machine does not support '.sync' service integration")
	case strings.HasSuffix(s.Resource, callbackPattern):
		b.fault(codeSchema, at, "Express state machine does not support '.waitForTaskToken' service integration ")
	default:
		return false
	}

	return true
}
