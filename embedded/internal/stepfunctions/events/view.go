package events

import (
	"ratchet/embedded/internal/stepfunctions/asl"
	"ratchet/embedded/internal/stepfunctions/execution"
	"ratchet/embedded/internal/stepfunctions/rawjson"
)

// View shows the events of one execution.
type View struct {
	Program *asl.Machine
	History execution.History
	// Role and Region are of the execution.
	Role, Region string
	// Runs is the ARN of a Map Run up to its name.
	Runs string
	// Version and Alias are the ARNs with which the execution was started, empty for none.
	Version, Alias string
	// Data is set if inputs and outputs are shown.
	Data bool
}

// Show returns the event without its time, and how many bytes its documents have.
func (v *View) Show(e *execution.Event) (event map[string]any, bytes int, err error) {
	event = map[string]any{
		"id":              e.ID,
		"previousEventId": e.Prev,
		"type":            e.Name(v.Program),
	}

	r := rows[e.Type]
	if r.member == "" {
		return event, 0, nil
	}

	details := map[string]any{}
	if r.details != nil {
		details = r.details(v, e)
	}

	if e.Doc != nil && r.document != "" {
		if bytes, err = v.document(e.Doc, r.document, details); err != nil {
			return nil, 0, err
		}
	}

	if details["assignedVariables"] != nil {
		bytes += len(e.Assigned)
	}

	if e.Error != "" {
		details["error"] = e.Error
	}

	if e.Cause != "" {
		details["cause"] = e.Cause
	}
	event[r.member] = details

	return event, bytes, nil
}

// document adds the event's document to the details and returns its size.
func (v *View) document(doc *execution.Doc, name string, details map[string]any) (bytes int, err error) {
	if !v.Data {
		return 0, nil
	}

	text := doc.JSON
	// A stored event without JSON refers to an earlier event with the same document.
	if text == nil {
		if text, err = v.History.Document(doc.Ref); err != nil {
			return 0, err
		}
	}

	details[name] = string(text)
	// Parameters have no details beside them.
	if name != parameters {
		details[name+"Details"] = untruncated()
	}

	return len(text), nil
}

func untruncated() map[string]bool { return map[string]bool{"truncated": false} }

func (v *View) state(e *execution.Event) *asl.State { return v.Program.States[e.State] }

func (v *View) started(*execution.Event) map[string]any {
	d := map[string]any{"roleArn": v.Role}
	if v.Version != "" {
		d["stateMachineVersionArn"] = v.Version
	}

	if v.Alias != "" {
		d["stateMachineAliasArn"] = v.Alias
	}

	return d
}

func (v *View) redriven(e *execution.Event) map[string]any {
	return map[string]any{"redriveCount": e.Index}
}

func (v *View) entered(e *execution.Event) map[string]any {
	return map[string]any{"name": v.state(e).Name}
}

// exited returns the state's name, and the variables that it has assigned, each as JSON text.
func (v *View) exited(e *execution.Event) map[string]any {
	d := v.entered(e)
	if e.Assigned == nil || !v.Data {
		return d
	}

	values := map[string]string{}
	for c := rawjson.Walk(e.Assigned); c.Next(); {
		name, _ := rawjson.Text(c.Key)
		values[name] = string(c.Value)
	}
	d["assignedVariables"], d["assignedVariablesDetails"] = values, untruncated()

	return d
}

func (v *View) evaluated(e *execution.Event) map[string]any {
	d := map[string]any{"state": v.state(e).Name}
	if e.Worker != "" {
		d["location"] = e.Worker
	}

	return d
}

func (v *View) activityScheduled(e *execution.Event) map[string]any {
	return withLimits(e, map[string]any{"resource": v.state(e).Resource})
}

func (v *View) activityStarted(e *execution.Event) map[string]any {
	if e.Worker == "" {
		return map[string]any{}
	}

	return map[string]any{"workerName": e.Worker}
}

// call returns the members that name the call of a service integration.
func (v *View) call(e *execution.Event) map[string]any {
	call := v.state(e).Integration
	return map[string]any{"resourceType": call.ResourceType, "resource": call.Resource}
}

func (v *View) taskScheduled(e *execution.Event) map[string]any {
	d := v.call(e)
	d["region"] = v.Region

	return withLimits(e, d)
}

func (v *View) functionScheduled(e *execution.Event) map[string]any {
	d := map[string]any{"resource": v.state(e).Resource}
	if e.Timeout > 0 {
		d["timeoutInSeconds"] = e.Timeout
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

func (v *View) length(e *execution.Event) map[string]any {
	return map[string]any{"length": e.Index}
}

func (v *View) iteration(e *execution.Event) map[string]any {
	return map[string]any{"name": v.state(e).Name, "index": e.Index}
}

func (v *View) mapRun(e *execution.Event) map[string]any {
	return map[string]any{"mapRunArn": v.Runs + e.Worker}
}

func (v *View) mapRunRedriven(e *execution.Event) map[string]any {
	return map[string]any{"mapRunArn": v.Runs + e.Worker, "redriveCount": e.Index}
}
