package execution

import (
	"fmt"

	"pgregory.net/rapid"
)

// query writes the fields of one state in JSONata, as state does for JSONPath.
func (g *generator) query(i, depth int, scope []string) {
	kind := rapid.IntRange(0, 6).Draw(g.rt, "kind")
	if depth == 0 {
		kind %= 4
	}

	// An Output that keeps the input, which the next state needs, with one more member.
	with := func(member, value string) string {
		return fmt.Sprintf(`"Output":"{%% $merge([$states.input, {'%s': %s}]) %%}",`, member, value)
	}

	handlers := ""
	if rapid.Bool().Draw(g.rt, "retry") {
		handlers = `"Retry":[{"ErrorEquals":["Boom"],"IntervalSeconds":1,"MaxAttempts":1}],`
	}

	if rapid.Bool().Draw(g.rt, "catch") {
		handlers += fmt.Sprintf(`"Catch":[{"ErrorEquals":["Boom"],%s"Assign":{"v%d":{"at":"{%% 'caught' %%}"}},"Next":"S%d"}],`,
			with("e", "$states.errorOutput"), i, i+1)
	}

	g.text.WriteString(`"QueryLanguage":"JSONata",`)

	const list = `"Items":"{% $states.input.list %}","ItemSelector":{"list":"{% $states.input.list %}","v":"{% $states.context.Map.Item.Value %}"},`

	switch kind {
	case 0:
		g.text.WriteString(`"Type":"Pass",` + with("p", "{'in': $states.input}"))
	case 1:
		fmt.Fprintf(&g.text, `"Type":"Wait","Seconds":"{%% %d %%}",`, rapid.IntRange(0, 3).Draw(g.rt, "seconds"))
	case 2, 3:
		fmt.Fprintf(&g.text, `"Type":"Task","Resource":"%s",`+
			`"TimeoutSeconds":"{%% 100 + %d %%}","Arguments":{"s":%d,"n":"{%% $states.context.State.RetryCount %%}"},%s%s`,
			g.resource(), i, i, with("t", "$states.result"), handlers)
	case 4:
		// The branches see the same random value, also if one of them starts later.
		g.text.WriteString(`"Type":"Parallel","Arguments":"{% $merge([$states.input, {'id': $uuid()}]) %}",` +
			with("b", "[$states.result.last.id[0] = $states.result.last.id[1]]") + handlers + `"Branches":[{`)
		g.flow(depth-1, scope)
		g.text.WriteString(`},{`)
		g.flow(depth-1, scope)
		g.text.WriteString(`}],`)
	case 5: // whose executions begin without variables, and whose failures are in the result
		g.text.WriteString(`"Type":"Map","ToleratedFailurePercentage":"{% 100 %}",` + list + with("d", "$states.result") + handlers +
			`"ItemProcessor":{"ProcessorConfig":{"Mode":"DISTRIBUTED","ExecutionType":"STANDARD"},`)
		g.flow(depth-1, nil)
		g.text.WriteString(`},`)
	default:
		fmt.Fprintf(&g.text, `"Type":"Map","MaxConcurrency":"{%% %d %%}",`, rapid.IntRange(0, 2).Draw(g.rt, "concurrency"))
		g.text.WriteString(list + with("m", "$states.result") + handlers + `"ItemProcessor":{`)
		g.flow(depth-1, scope)
		g.text.WriteString(`},`)
	}
}
