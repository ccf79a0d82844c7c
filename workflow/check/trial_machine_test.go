package check_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
)

// part is a JSON object of a machine.
type part = map[string]any

// drawer draws machines: some sound ones, into which it plants what may go wrong.
type drawer struct {
	r      *rand.Rand
	n      int
	states part // of the scope being drawn
	query  bool // JSONata
	nested int
}

func (d *drawer) one(n int) bool { return d.r.IntN(n) == 0 }

func pick[T any](d *drawer, from ...T) T { return from[d.r.IntN(len(from))] }

func (d *drawer) name(kind string) string {
	d.n++
	return fmt.Sprintf("%s%d", kind, d.n)
}

// draw returns a machine. It creates the order, goes through some drawn states, and settles: it looks where the
// order is and brings it to an end.
func (d *drawer) draw() string {
	d.states = part{}
	d.query = d.one(4)
	top := d.states

	d.settle()

	first := "Choose"
	if d.one(4) {
		first = "Look"
	}

	start := first
	for range d.r.IntN(4) {
		start = d.segment(start)
	}

	top["Create"] = d.task("create", nil, start, d.keep())
	machine := part{"StartAt": "Create", "TimeoutSeconds": 86400 * 365, "States": top}
	if d.query {
		machine["QueryLanguage"] = "JSONata"
	}

	text, err := json.Marshal(machine)
	if err != nil {
		panic(err)
	}

	return string(text)
}

// settle draws the states that bring the order to an end from wherever it is.
func (d *drawer) settle() {
	look := "Look"
	if d.one(3) && !d.query {
		// The cause of the refusal says where the order is.
		look = "Overtaken"
		d.states[look] = part{"Type": "Pass", "Parameters": part{"order.$": "States.StringToJson($.failure.Cause)", "items.$": "$.items", "flag.$": "$.flag"}, "Next": "Choose"}
	} else if d.one(3) && d.query {
		look = "Told"
	}

	d.states["Look"] = d.task("look", nil, "Choose", d.keep())
	if d.one(6) {
		d.states["Look"].(part)["Retry"] = []any{part{"ErrorEquals": []string{busy}, "MaxAttempts": 3}}
	}

	catch := d.catch(moved, look)
	if look == "Told" {
		catch = part{"ErrorEquals": []string{moved}, "Assign": part{"order": "{% $parse($states.errorOutput.Cause) %}"}, "Output": "{% $states.input %}", "Next": "Choose"}
	}

	d.states["Choose"] = d.choice([][2]string{{"A", "Go"}, {"B", "Fin"}}, "Done")
	d.states["Go"] = d.task("apply", d.fenced("go"), "Fin", d.keep(), catch)
	d.states["Fin"] = d.task("apply", d.fenced("fin"), "Done", d.keep(), catch)
	d.states["Done"] = part{"Type": "Succeed"}
	// The engine refuses states to which nothing leads.
	d.states["Fin"].(part)["Catch"] = append(d.states["Fin"].(part)["Catch"].([]part), d.catch("Order.Bad", "Look"))
}

// keep says where a result goes: to the order.
func (d *drawer) keep() part {
	if d.query {
		return part{"Assign": part{"order": "{% $states.result %}"}, "Output": "{% $states.input %}"}
	}

	return part{"ResultPath": "$.order"}
}

// put draws where a result goes.
func (d *drawer) put() part {
	if d.query {
		return pick(d, d.keep(), d.keep(), d.keep(), part{"Output": "{% $states.input %}"}, part{"Assign": part{"seen": "{% $states.result %}"}, "Output": "{% $states.input %}"},
			part{"Assign": part{"order": part{"state": "{% $states.result.state %}", "transitionId": "{% $states.result.transitionId %}"}}, "Output": "{% $states.input %}"})
	}

	return pick(d, d.keep(), d.keep(), d.keep(), part{"ResultPath": nil}, part{"ResultPath": "$.x"},
		part{"ResultSelector": part{"state.$": "$.state", "transitionId.$": "$.transitionId"}, "ResultPath": "$.order"})
}

func (d *drawer) fenced(event string) part {
	if d.query {
		return part{"event": event, "transitionId": "{% $order.transitionId + 1 %}"}
	}

	return part{"event": event, "transitionId.$": "States.MathAdd($.order.transitionId, 1)"}
}

func (d *drawer) task(name string, parameters part, next string, fields part, catches ...part) part {
	s := part{"Type": "Task", "Resource": "${" + name + "Arn}", "TimeoutSeconds": 60, "HeartbeatSeconds": 20}

	in := part{}
	for k, v := range parameters {
		in[k] = v
	}

	if d.query {
		in["run"], in["at"] = "{% $states.context.Execution.Name %}", "{% $states.context.State.Name %}"
		s["Arguments"] = in
	} else {
		in["run.$"], in["at.$"] = "$$.Execution.Name", "$$.State.Name"
		s["Parameters"] = in
	}

	for k, v := range fields {
		s[k] = v
	}

	if len(catches) > 0 {
		s["Catch"] = catches
	}

	d.lead(s, next)

	return s
}

// lead gives a state its Next, or its End.
func (d *drawer) lead(s part, next string) {
	if next == "" {
		s["End"] = true
		return
	}

	s["Next"] = next
}

func (d *drawer) catch(err, next string) part {
	if d.query {
		return part{"ErrorEquals": []string{err}, "Output": "{% $states.input %}", "Next": next}
	}

	return part{"ErrorEquals": []string{err}, "ResultPath": pick(d, "$.failure", "$.failure", "$.failure", "$.order.failure"), "Next": next}
}

// choice draws a Choice with a rule for each state, in one of its forms.
func (d *drawer) choice(rules [][2]string, otherwise string) part {
	var list []any
	for _, r := range rules {
		rule := part{"Variable": "$.order.state", "StringEquals": r[0]}
		switch form := d.r.IntN(6); {
		case d.query:
			rule = part{"Condition": pick(d, "{% $order.state = '"+r[0]+"' %}", "{% $order.state in ['"+r[0]+"', 'Z'] %}", "{% $not($order.state != \""+r[0]+"\") %}")}
		case form == 0:
			rule = part{"Not": part{"Not": rule}}
		case form == 1:
			rule = part{"And": []any{part{"Variable": "$.order", "IsPresent": true}, rule}}
		case form == 2:
			rule = part{"Or": []any{rule, part{"Variable": "$.order.state", "StringMatches": r[0] + r[0] + "*"}}}
		}
		rule["Next"] = r[1]
		list = append(list, rule)
	}

	s := part{"Type": "Choice", "Choices": list}
	if otherwise != "" {
		s["Default"] = otherwise
	}

	return s
}

// segment draws a state or more before next, and returns the first of them. next is "" at the end of a branch.
func (d *drawer) segment(next string) string {
	kinds := []func(string) string{d.apply, d.apply, d.look, d.pass, d.pass, d.decide, d.parallel, d.parallel, d.each, d.variable, d.rest, d.note}
	if d.nested > 0 {
		kinds = []func(string) string{d.apply, d.apply, d.look, d.pass, d.fail, d.note, d.decide}
	}

	return kinds[d.r.IntN(len(kinds))](next)
}

// recover is where a Catch leads: to the settling states, or on.
func (d *drawer) recover(next string) string {
	if d.nested > 0 || d.one(4) {
		if next == "" {
			name := d.name("Caught")
			d.states[name] = part{"Type": "Pass", "End": true}

			return name
		}

		return next
	}

	return "Look"
}

func (d *drawer) apply(next string) string {
	event := pick(d, "go", "go", "fin", "back", "stop")
	parameters := d.fenced(event)
	if d.one(8) {
		parameters = part{"event": event}
	}

	var catches []part
	if !d.one(8) {
		catches = append(catches, d.catch(pick(d, moved, moved, moved, "States.ALL", "States.TaskFailed"), d.recover(next)))
	}

	name := d.name("Apply")
	d.states[name] = d.task("apply", parameters, next, d.put(), catches...)
	if d.one(4) {
		d.states[name].(part)["Retry"] = []any{part{"ErrorEquals": []string{busy}, "MaxAttempts": 2, "IntervalSeconds": 1}}
	}

	return name
}

func (d *drawer) look(next string) string {
	name := d.name("Ask")
	d.states[name] = d.task("look", nil, next, d.put())

	return name
}

func (d *drawer) note(next string) string {
	name := d.name("Note")
	fields := part{"ResultPath": pick[any](d, nil, "$.x", "$.order.note")}
	if d.query {
		fields = part{"Output": "{% $states.input %}"}
	}
	d.states[name] = d.task("note", nil, next, fields)

	return name
}

func (d *drawer) rest(next string) string {
	name := d.name("Rest")
	d.states[name] = part{"Type": "Wait", "Seconds": d.r.IntN(2)}
	d.lead(d.states[name].(part), next)

	return name
}

func (d *drawer) fail(next string) string {
	name := d.name("Out")
	switch next {
	case "":
		d.states[name] = part{"Type": "Fail", "Error": pick(d, "Mine", "Mine", moved)}
	default:
		return d.pass(next)
	}

	return name
}

// pass draws a Pass that moves the position about.
func (d *drawer) pass(next string) string {
	name := d.name("Pass")
	s := part{"Type": "Pass"}
	d.lead(s, next)
	d.states[name] = s

	if d.query {
		for k, v := range pick(d,
			part{"Assign": part{"order": "{% $order %}"}},
			part{"Assign": part{"order": part{"state": "A", "transitionId": 1}}},
			part{"Assign": part{"order": "{% $merge([$order, {'n': 1}]) %}"}},
			part{"Assign": part{"kept": "{% $order %}"}},
			part{"Output": "{% $merge([$states.input, {'order': $order}]) %}"},
			part{},
		) {
			s[k] = v
		}

		return name
	}

	for k, v := range pick(d,
		part{"InputPath": "$.order", "ResultPath": "$.saved"},
		part{"InputPath": "$.order", "ResultPath": "$.order"},
		part{"Parameters": part{"order.$": "$.order", "items.$": "$.items", "flag.$": "$.flag"}},
		part{"Parameters": part{"order": part{"state.$": "$.order.state", "transitionId.$": "$.order.transitionId"}, "items.$": "$.items", "flag.$": "$.flag"}},
		part{"Parameters": part{"items.$": "$.items", "flag.$": "$.flag"}},
		part{"Result": part{"state": pick(d, "A", "B"), "transitionId": 1}, "ResultPath": "$.order"},
		part{"Result": part{"x": 1}, "ResultPath": "$.y"},
		part{"Parameters": part{"all.$": "$"}, "OutputPath": "$.all"},
		part{},
	) {
		s[k] = v
	}

	// An earlier copy over the order, or a move between the two.
	if s["ResultPath"] == "$.saved" && d.one(2) && next != "" {
		back := d.name("Back")
		d.states[back] = part{"Type": "Pass", "InputPath": "$.saved", "ResultPath": "$.order", "Next": next}
		s["Next"] = back
		if d.one(2) {
			s["Next"] = d.apply(back)
		}
	}

	return name
}

// decide draws a Choice that may leave out a state, or ask for something else.
func (d *drawer) decide(next string) string {
	name := d.name("Which")
	end := next
	if end == "" {
		end = d.name("Stop")
		d.states[end] = part{"Type": "Succeed"}
	}

	rules := [][2]string{{"A", end}, {"B", end}, {"C", end}, {"D", end}}
	d.r.Shuffle(len(rules), func(i, j int) { rules[i], rules[j] = rules[j], rules[i] })
	rules = rules[:1+d.r.IntN(4)]

	otherwise := ""
	if d.one(2) {
		otherwise = end
	}

	s := d.choice(rules, otherwise)
	if d.one(5) && !d.query {
		s["Choices"] = append(s["Choices"].([]any), part{"Variable": "$.flag", "BooleanEquals": true, "Next": end})
	}
	d.states[name] = s

	return name
}

// scope draws a scope of its own.
func (d *drawer) scope() part {
	outer := d.states
	d.states = part{}
	d.nested++

	start := d.segment("")
	if d.one(2) && start != "" {
		start = d.segment(start)
	}

	sc := part{"StartAt": start, "States": d.states}
	d.states = outer
	d.nested--

	return sc
}

func (d *drawer) parallel(next string) string {
	name := d.name("Both")
	s := part{"Type": "Parallel", "Branches": []any{d.scope()}}
	if d.one(2) {
		s["Branches"] = append(s["Branches"].([]any), d.scope())
	}

	if d.query {
		for k, v := range pick(d,
			part{"Output": "{% $states.input %}"},
			part{"Output": "{% $states.input %}", "Assign": part{"results": "{% $states.result %}"}},
			part{"Output": "{% $states.input %}", "Arguments": part{"x": 1}},
		) {
			s[k] = v
		}
	} else {
		for k, v := range pick(d,
			part{"ResultPath": nil},
			part{"ResultPath": "$.results"},
			part{"ResultPath": "$.results"},
			part{"ResultSelector": part{"order.$": "$[0].order"}, "ResultPath": "$.r"},
			part{"ResultSelector": part{"state.$": "$[0].order.state", "transitionId.$": "$[0].order.transitionId"}, "ResultPath": "$.order"},
			part{"Parameters": part{"order.$": "$.order", "items.$": "$.items", "flag.$": "$.flag"}, "ResultPath": nil},
			part{"Parameters": part{"x": 1}, "ResultPath": nil},
		) {
			s[k] = v
		}
	}

	d.around(s, next)
	d.lead(s, next)
	d.states[name] = s

	return name
}

// around draws the Catch and the Retry of a Parallel or Map.
func (d *drawer) around(s part, next string) {
	if !d.one(3) {
		s["Catch"] = []any{d.catch(pick(d, "States.ALL", "States.ALL", moved, "Mine"), pick(d, "Look", next))}
	}

	if d.one(5) {
		s["Retry"] = []any{part{"ErrorEquals": []string{pick(d, busy, "Mine")}, "MaxAttempts": 1}}
	}
}

// list names a list of the input that no other Map goes through: each may be empty.
func (d *drawer) list() string { return fmt.Sprintf("l%d", d.n%10) }

func (d *drawer) each(next string) string {
	name := d.name("Each")
	s := part{"Type": "Map", "ItemProcessor": d.scope(), "MaxConcurrency": d.r.IntN(3)}

	if d.query {
		s["Items"], s["Output"] = "{% $states.input.items."+d.list()+" %}", "{% $states.input %}"
		if d.one(2) {
			s["ItemSelector"] = part{"order": "{% $order %}"}
		}
	} else {
		s["ItemsPath"], s["ResultPath"] = "$.items."+d.list(), pick[any](d, nil, "$.m")
		if !d.one(4) {
			s["ItemSelector"] = part{"order.$": "$.order", "item.$": "$$.Map.Item.Value", "items.$": "$.items", "flag.$": "$.flag"}
		}

		if d.one(4) {
			s["ItemProcessor"].(part)["ProcessorConfig"] = part{"Mode": "DISTRIBUTED", "ExecutionType": "STANDARD"}
			if d.one(2) {
				s["ToleratedFailurePercentage"] = 100
			}
		}
	}

	d.around(s, next)
	d.lead(s, next)
	d.states[name] = s

	return name
}

// variable keeps the position in a variable, and perhaps decides or applies by it.
func (d *drawer) variable(next string) string {
	if d.query {
		return d.pass(next)
	}

	name := d.name("Keep")
	d.states[name] = part{"Type": "Pass", "Assign": part{"kept.$": "$.order"}, "Next": next}
	switch d.r.IntN(3) {
	case 0:
		after := d.name("Kept")
		d.states[after] = part{"Type": "Choice", "Choices": []any{part{"Variable": "$kept.state", "StringEquals": pick(d, "A", "B"), "Next": next}}}
		if d.one(2) {
			d.states[after].(part)["Default"] = next
		}
		d.states[name].(part)["Next"] = after
	case 1:
		after := d.name("Use")
		d.states[after] = d.task("apply", part{"event": pick(d, "go", "fin"), "transitionId.$": "States.MathAdd($kept.transitionId, 1)"}, next, d.put(), d.catch(moved, "Look"))
		d.states[name].(part)["Next"] = after
		if d.one(2) {
			d.states[name].(part)["Next"] = d.apply(after)
		}
	}

	return name
}
