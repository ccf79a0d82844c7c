package stepfunctions

import (
	"context"
	"fmt"

	"ratchet/embedded/internal/stepfunctions/asl"
	"ratchet/embedded/internal/stepfunctions/execution"
	"ratchet/embedded/internal/stepfunctions/rawjson"
)

// historyBytes is the size of the documents after which a page of history ends, in bytes.
const historyBytes = 4 << 20

// executionHistory answers GetExecutionHistory.
func (s *Service) executionHistory(_ context.Context, in *struct {
	ExecutionArn         string
	IncludeExecutionData *bool
	MaxResults           int
	NextToken            string
	ReverseOrder         bool
}) (any, error) {
	key, m, err := s.executionNamed(in.ExecutionArn)
	if err != nil {
		return nil, err
	}

	size, err := pageSize(in.MaxResults)
	if err != nil {
		return nil, err
	}

	st, err := s.readExecution(key)
	if err != nil {
		return nil, err
	}

	if o, err := s.originOf(m.Name, st); err != nil {
		return nil, err
	} else if o.run != nil && o.run.Express {
		// The history of an Express execution cannot be read, also when a Map Run has started it.
		return nil, wrongType()
	}

	rev, err := s.revision(m.ID, st.Revision)
	if err != nil {
		return nil, err
	}

	at := uint64(1)
	if in.ReverseOrder {
		at = uint64(st.LastEvent)
	}

	// The token names the event with which the next page begins, in either direction.
	if in.NextToken != "" {
		if at, err = readPageToken(in.NextToken, keyHistory, key.id); err != nil {
			return nil, err
		}
	}

	// An absent IncludeExecutionData means true.
	p := &historyPage{
		reader:  history{s, key},
		program: rev.program,
		role:    rev.RoleARN,
		region:  s.cfg.Region,
		runs:    s.arn("mapRun", m.Name) + "/",
		version: s.versionARN(m.Name, st.Version),
		alias:   s.optionalAliasARN(m.Name, st.Alias),
		size:    size,
		data:    in.IncludeExecutionData == nil || *in.IncludeExecutionData,
	}

	next, err := p.fill(s, key, int64(at), in.ReverseOrder)
	if err != nil {
		return nil, err
	}

	answer := struct {
		Events    []map[string]any `json:"events"`
		NextToken *string          `json:"nextToken,omitempty"`
	}{Events: p.events}
	if next > 0 {
		answer.NextToken = pageToken(keyHistory, key.id, uint64(next))
	}

	return answer, nil
}

// historyPage collects the events of one page as GetExecutionHistory returns them.
type historyPage struct {
	reader  history
	program *asl.Machine
	role    string
	region  string
	runs    string // the ARNs of Map Runs up to their name
	version string // the ARN of the execution's version, "" without one
	alias   string // the ARN of the execution's alias, "" without one
	size    int    // events on a page
	data    bool   // with inputs and outputs
	bytes   int    // of the documents on the page
	events  []map[string]any
}

// fill reads events from the one with id at onwards. It returns the id of the first that
// did not fit, or 0.
func (p *historyPage) fill(s *Service, key executionKey, at int64, reverse bool) (next int64, err error) {
	// Not nil, so that the answer has [] and not null.
	p.events = []map[string]any{}

	lo, hi := key.history(0), key.history(at+1)
	if !reverse {
		// A turn is stored under the ID of its first event, so the turn that holds event at is the newest
		// turn that begins at or before at.
		// Every event's ID is smaller than 1<<62.
		lo, hi = key.history(at), key.history(1<<62)

		err = s.db.Scan(key.history(0), key.history(at+1), true, func(k, _ []byte) (bool, error) {
			lo = append([]byte(nil), k...)
			return false, nil
		})
		if err != nil {
			return 0, fmt.Errorf("read history: %w", err)
		}
	}

	err = s.db.Scan(lo, hi, reverse, func(k, v []byte) (bool, error) {
		var turn []execution.Event

		err := execution.ReadEvents(int64(number(k)), v, func(e *execution.Event) bool {
			// ReadEvents reuses its event and calls in ascending order, so the
			// events are copied and turned around below.
			if reverse && e.ID <= at || !reverse && e.ID >= at {
				turn = append(turn, *e)
			}

			return true
		})
		if err != nil {
			return false, err
		}

		for i := range turn {
			e := &turn[i]
			if reverse {
				e = &turn[len(turn)-1-i]
			}

			// Checked before the event is added: a page has at least one
			// event, however long its document is.
			if len(p.events) == p.size || p.bytes > historyBytes {
				next = e.ID
				return false, nil
			}

			if err := p.add(e); err != nil {
				return false, err
			}
		}

		return true, nil
	})

	return next, err
}

// add adds one event to the page.
func (p *historyPage) add(e *execution.Event) error {
	event := map[string]any{
		"id":              e.ID,
		"previousEventId": e.Prev,
		"timestamp":       stamp(e.At),
		"type":            e.Name(p.program),
	}

	name, details := p.details(e)
	if details != nil {
		// A type without details has no place for a document either.
		if e.Doc != nil {
			if err := p.document(e, details); err != nil {
				return err
			}
		}

		if e.Error != "" {
			details["error"] = e.Error
		}

		if e.Cause != "" {
			details["cause"] = e.Cause
		}

		event[name] = details
	}

	p.events = append(p.events, event)

	return nil
}

// document adds the event's input or output.
func (p *historyPage) document(e *execution.Event, details map[string]any) error {
	field := "output"
	switch e.Type {
	case execution.MapStateStarted: // the document of a Map in JSONata is the engine's own
		return nil
	case execution.TaskScheduled: // the parameters have no details beside them
		field = "parameters"
	case execution.ExecutionStarted, execution.StateEntered, execution.ActivityScheduled, execution.LambdaFunctionScheduled:
		field = "input"
	default:
	}

	if !p.data {
		return nil
	}

	text := e.Doc.JSON
	// A stored event without JSON refers to an earlier event with the same document.
	if text == nil {
		var err error
		if text, err = p.reader.Document(e.Doc.Ref); err != nil {
			return err
		}
	}

	p.bytes += len(text)

	details[field] = string(text)
	if field != "parameters" {
		details[field+"Details"] = map[string]bool{"truncated": false}
	}

	return nil
}

// assigned adds the variables that a state has assigned to its details, each as JSON text.
func (p *historyPage) assigned(e *execution.Event, d map[string]any) map[string]any {
	if e.Assigned == nil || !p.data {
		return d
	}

	p.bytes += len(e.Assigned)
	values := map[string]string{}
	for c := rawjson.Walk(e.Assigned); c.Next(); {
		name, _ := rawjson.Text(c.Key)
		values[name] = string(c.Value)
	}

	d["assignedVariables"] = values
	d["assignedVariablesDetails"] = map[string]bool{"truncated": false}

	return d
}

// started returns the details of the first event.
func (p *historyPage) started() map[string]any {
	d := map[string]any{"roleArn": p.role}
	if p.version != "" {
		d["stateMachineVersionArn"] = p.version
	}

	if p.alias != "" {
		d["stateMachineAliasArn"] = p.alias
	}

	return d
}

// withLimits adds the time limits of a scheduled task to its details.
func withLimits(e *execution.Event, d map[string]any) map[string]any {
	if e.Timeout > 0 {
		d["timeoutInSeconds"] = e.Timeout
	}

	if e.Heartbeat > 0 {
		d["heartbeatInSeconds"] = e.Heartbeat
	}

	return d
}

// resource returns the members that name the call of a service integration.
func (p *historyPage) resource(e *execution.Event) map[string]any {
	call := p.program.States[e.State].Integration
	return map[string]any{"resourceType": call.ResourceType, "resource": call.Resource}
}

// details returns the name of the event's member with details, and the details that only
// its type has. Types without details give "".
func (p *historyPage) details(e *execution.Event) (string, map[string]any) {
	// Closures, because events of the execution itself have the state -1.
	name := func() string { return p.program.States[e.State].Name }
	iteration := func() map[string]any { return map[string]any{"name": name(), "index": e.Index} }

	switch e.Type {
	case execution.ExecutionStarted:
		return "executionStartedEventDetails", p.started()
	case execution.ExecutionSucceeded:
		return "executionSucceededEventDetails", map[string]any{}
	case execution.ExecutionFailed:
		return "executionFailedEventDetails", map[string]any{}
	case execution.ExecutionAborted:
		return "executionAbortedEventDetails", map[string]any{}
	case execution.ExecutionTimedOut:
		return "executionTimedOutEventDetails", map[string]any{}
	case execution.ExecutionRedriven:
		return "executionRedrivenEventDetails", map[string]any{"redriveCount": e.Index}
	case execution.ActivityScheduled:
		return "activityScheduledEventDetails", withLimits(e, map[string]any{"resource": p.program.States[e.State].Resource})
	case execution.ActivityStarted:
		d := map[string]any{}
		if e.Worker != "" {
			d["workerName"] = e.Worker
		}

		return "activityStartedEventDetails", d
	case execution.ActivitySucceeded:
		return "activitySucceededEventDetails", map[string]any{}
	case execution.ActivityFailed:
		return "activityFailedEventDetails", map[string]any{}
	case execution.ActivityTimedOut:
		return "activityTimedOutEventDetails", map[string]any{}
	case execution.TaskScheduled:
		d := p.resource(e)
		d["region"] = p.region

		return "taskScheduledEventDetails", withLimits(e, d)
	case execution.TaskStarted:
		return "taskStartedEventDetails", p.resource(e)
	case execution.TaskSubmitted:
		return "taskSubmittedEventDetails", p.resource(e)
	case execution.TaskSubmitFailed:
		return "taskSubmitFailedEventDetails", p.resource(e)
	case execution.TaskSucceeded:
		return "taskSucceededEventDetails", p.resource(e)
	case execution.TaskFailed:
		return "taskFailedEventDetails", p.resource(e)
	case execution.TaskTimedOut:
		return "taskTimedOutEventDetails", p.resource(e)
	case execution.LambdaFunctionScheduled:
		d := map[string]any{"resource": p.program.States[e.State].Resource}
		if e.Timeout > 0 {
			d["timeoutInSeconds"] = e.Timeout
		}

		return "lambdaFunctionScheduledEventDetails", d
	case execution.LambdaFunctionSucceeded:
		return "lambdaFunctionSucceededEventDetails", map[string]any{}
	case execution.LambdaFunctionFailed:
		return "lambdaFunctionFailedEventDetails", map[string]any{}
	case execution.LambdaFunctionTimedOut:
		return "lambdaFunctionTimedOutEventDetails", map[string]any{}
	case execution.MapStateStarted:
		return "mapStateStartedEventDetails", map[string]any{"length": e.Index}
	case execution.MapIterationStarted:
		return "mapIterationStartedEventDetails", iteration()
	case execution.MapIterationSucceeded:
		return "mapIterationSucceededEventDetails", iteration()
	case execution.MapIterationFailed:
		return "mapIterationFailedEventDetails", iteration()
	case execution.MapIterationAborted:
		return "mapIterationAbortedEventDetails", iteration()
	case execution.MapRunStarted:
		return "mapRunStartedEventDetails", map[string]any{"mapRunArn": p.runs + e.Worker}
	case execution.MapRunFailed:
		return "mapRunFailedEventDetails", map[string]any{}
	case execution.MapRunRedriven:
		return "mapRunRedrivenEventDetails", map[string]any{"mapRunArn": p.runs + e.Worker, "redriveCount": e.Index}
	case execution.EvaluationFailed:
		d := map[string]any{"state": name()}
		if e.Worker != "" {
			d["location"] = e.Worker
		}

		return "evaluationFailedEventDetails", d
	case execution.StateEntered:
		return "stateEnteredEventDetails", map[string]any{"name": name()}
	case execution.StateExited:
		return "stateExitedEventDetails", p.assigned(e, map[string]any{"name": name()})
	default:
		return "", nil
	}
}
