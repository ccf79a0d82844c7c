package console

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"ratchet/api/auth"
)

// act is something that a person does on a page: one request to the API.
type act struct {
	name  string // in addresses
	title string // of the button and the page; {name} is a value
	does  string // the effect, for the person who acts
	scope auth.Scope
	// personal says that the route wants the grant for personal data, too.
	personal bool

	// stream says that the route is about the handlers of the stream, which belong to all tenants: only the default one may.
	stream bool

	// method and path are those of the request. The ids in the path are values of the form; {key} is the form's own
	// name, for a route that has no Idempotency-Key.
	method, path string
	// fixed are further values that the button gives and the person does not change.
	fixed  []string
	fields []field
	// body returns the body of the request. Nil: it has none.
	body func(values) (any, error)
	// seen says that the request depends on the order as the person has seen it.
	seen bool
	// grave says that nothing undoes the act. An event is grave if it ends an order.
	grave bool
	// command is the same on the command line. The flags of fields follow, and then the arguments, if there are more.
	command   string
	arguments func(tenant string, v values) []string
	// page is the page to go back to, with values in it. "": that of what the act is about.
	page string
	// made is the page of what the act makes, whose id is in the answer.
	made string
}

// field is an input of a form.
type field struct {
	name, label string
	kind        string // of the input: text, number, area, check or datetime-local
	needed      bool
	hint        string
	preset      string // the value of a new form
	flag        string // on the command line, if the command does not have the value in its text
	file        string // on the command line the flag names a file with the value
}

// values are the values of a form by name.
type values map[string]string

// fault is a value that breaks a rule, for the person who has typed it.
type fault string

func (f fault) Error() string { return string(f) }

// number returns a whole number.
func (v values) number(name string) (int64, error) {
	n, err := strconv.ParseInt(strings.TrimSpace(v[name]), 10, 64)
	if err != nil {
		return 0, fault(name + ": a whole number")
	}

	return n, nil
}

// names of values in a path, a title or a command.
var names = regexp.MustCompile(`\{([a-z]+)\}`)

// ids returns the names of the ids in the path.
func (a act) ids() (ids []string) {
	for _, found := range names.FindAllStringSubmatch(a.path, -1) {
		if found[1] != keyValue {
			ids = append(ids, found[1])
		}
	}

	return ids
}

// subject is what a person types to confirm the act: the id of its subject, or the name of an act on many.
func (a act) subject(v values) string {
	ids := a.ids()
	if len(ids) == 0 {
		return a.name
	}

	return v[ids[len(ids)-1]]
}

// typed reports whether the person types the value.
func (a act) typed(name string) bool {
	return slices.ContainsFunc(a.fields, func(f field) bool { return f.name == name })
}

// fill replaces the names in a text by values as they are written there.
func fill(text string, v values, write func(string) string) string {
	return names.ReplaceAllStringFunc(text, func(name string) string { return write(v[strings.Trim(name, "{}")]) })
}

const (
	orderPath    = "/v1/orders/{order}"
	endpointPath = "/v1/endpoints/{endpoint}"
	letterPath   = "/v1/dead-letters/{handler}/{letter}"
	taskPath     = orderPath + "/parked-tasks/{state}"
	paymentPath  = "/v1/payments/{payment}"
)

// none is the body of a request whose route has one and needs nothing in it.
func none(values) (any, error) { return map[string]any{}, nil }

// because is the cause that the order's history has.
func because(v values) map[string]any { return map[string]any{"code": via, "text": v[reasonValue]} }

// via is the code of the cause of what comes through the console.
const via = "console"

// ownHint says how the value of an own attribute is typed.
const ownHint = `A text, or DynamoDB's JSON such as {"N":"3"}.`

// acts are all acts.
var acts = slices.Concat(actsOnOne, scheduledActs, jobActs(), questionActs())

// actsOnOne are the acts on one order, letter, delivery, endpoint or handler.
var actsOnOne = []act{
	{
		name: "apply", title: "Request {event}", does: "Requests the event of the order. It moves if its definition allows that now.", scope: auth.Act,
		method: http.MethodPost, path: orderPath + "/transitions", fixed: []string{"event"}, seen: true,
		fields: []field{
			{name: "values", label: "Values for the event's guards, NAME=VALUE, one a line", kind: "area"},
			{name: "own", label: "Own attributes to set, NAME=VALUE, one a line", kind: "area", hint: ownHint},
			{name: "force", label: "Also if it skips an effect that is due", kind: "check"},
		},
		body: func(v values) (any, error) {
			body := map[string]any{"event": v["event"], "cause": because(v), "refuseSkipped": v["force"] == ""}

			given, err := pairs(v["values"])
			if len(given) > 0 {
				body["values"] = given
			}

			set, wrong := ownLines(v["own"])
			if len(set) > 0 {
				body["own"] = map[string]any{"set": set}
			}

			return body, errors.Join(err, wrong)
		},
		command: "ratchet orders apply {order} {event} --request-id {key} --reason-text {reason}",
	},
	{
		name: "change-item", title: "Change {sku}", does: "Changes pieces and price of the line. Only before payment.", scope: auth.Act,
		method: http.MethodPut, path: orderPath + "/items/{sku}", seen: true,
		fields: []field{{name: "quantity", label: "Pieces", kind: "number", needed: true}, {name: "price", label: "Price of one, in minor units", kind: "number", needed: true}},
		body: func(v values) (any, error) {
			quantity, err := v.number("quantity")
			if err != nil {
				return nil, err
			}
			price, err := v.number("price")

			return map[string]any{"quantity": quantity, "price": price, "cause": because(v)}, err
		},
		command: "ratchet orders edit change-item {order} {sku}:{quantity}:{price} --event-id {key}",
	},
	{
		name: "remove-item", title: "Remove {sku}", does: "Removes every line of the SKU. Only before payment.", scope: auth.Act,
		method: http.MethodDelete, path: orderPath + "/items/{sku}", seen: true,
		command: "ratchet orders edit remove-item {order} {sku} --event-id {key}",
	},
	{
		name: "add-item", title: "Add a line", does: "Adds a line. Only before payment.", scope: auth.Act,
		method: http.MethodPost, path: orderPath + "/items", seen: true,
		fields: []field{
			{name: "sku", label: "SKU", kind: "text", needed: true}, {name: "quantity", label: "Pieces", kind: "number", needed: true},
			{name: "price", label: "Price of one, in minor units", kind: "number", needed: true},
		},
		body: func(v values) (any, error) {
			quantity, err := v.number("quantity")
			if err != nil {
				return nil, err
			}
			price, err := v.number("price")

			return map[string]any{"items": []any{map[string]any{"sku": v["sku"], "quantity": quantity, "price": price}}, "cause": because(v)}, err
		},
		command: "ratchet orders edit add-item {order} {sku}:{quantity}:{price} --event-id {key}",
	},
	{
		name: "add-note", title: "Add a note", does: "Adds a note for the people who handle the order. Only before payment.", scope: auth.Act,
		method: http.MethodPost, path: orderPath + "/notes", seen: true,
		fields: []field{{name: "text", label: "Note", kind: "area", needed: true}},
		body:   func(v values) (any, error) { return map[string]any{"text": v["text"], "cause": because(v)}, nil },

		command: "ratchet orders edit add-note {order} {text} --event-id {key}",
	},
	{
		name: "set-address", title: "Replace an address", does: "Replaces the whole address. Only before payment.", scope: auth.Act,
		method: http.MethodPut, path: orderPath + "/addresses/{kind}", seen: true,
		fields: []field{
			{name: "kind", label: "Which: shipping or billing", kind: "text", needed: true},
			{name: "lines", label: "The address, NAME=VALUE, one a line", kind: "area", needed: true},
		},
		body: func(v values) (any, error) {
			lines, err := lines(v["lines"])
			return lines, err
		},
		command: "ratchet orders edit set-address {order} {kind} {lines} --event-id {key}",
	},
	{
		name: "set-own", title: "Set an own attribute", does: "Gives an attribute of your own this value, whatever it was. Only before payment.", scope: auth.Act,
		method: http.MethodPost, path: orderPath + "/own", seen: true,
		fields: []field{{name: "name", label: "Name", kind: "text", needed: true}, {name: "value", label: "Value", kind: "area", hint: ownHint}},
		body: func(v values) (any, error) {
			value, err := ownValue("value", v["value"])
			return map[string]any{"own": map[string]any{"set": map[string]any{v["name"]: value}}, "cause": because(v)}, err
		},
		command: "ratchet orders edit set-own {order} --set {name}={value} --event-id {key}",
	},
	{
		name: "remove-own", title: "Remove {name}", does: "Removes the attribute of your own. Only before payment.", scope: auth.Act,
		method: http.MethodPost, path: orderPath + "/own", fixed: []string{"name"}, seen: true,
		body: func(v values) (any, error) {
			return map[string]any{"own": map[string]any{"remove": []string{v["name"]}}, "cause": because(v)}, nil
		},
		command: "ratchet orders edit set-own {order} --remove {name} --event-id {key}",
	},
	{
		name: "resend", title: "Send again", does: "Sends the notification of this transition to the endpoint once more.", scope: auth.Admin,
		method: http.MethodPost, path: orderPath + "/deliveries/{transition}/{endpoint}/resend",
		command: "ratchet deliveries resend {order}/{incarnation}/{transition}/{endpoint}", fixed: []string{"incarnation"},
	},
	{
		name: "redrive-letter", title: "Redrive", does: "Gives the change to its handler once more.", scope: auth.Admin,
		method: http.MethodPost, path: letterPath + "/redrive",
		command: "ratchet deadletters redrive {handler} {letter}",
	},
	{
		name: "discard-letter", title: "Discard", does: "Deletes the dead letter. Its handler never sees the change, and later changes of the order go on.", scope: auth.Admin,
		method: http.MethodPost, path: letterPath + "/discard", grave: true,
		command: "ratchet deadletters discard {handler} {letter}",
	},
	{
		name: "complete-task", title: "Complete the wait for {state}", does: "The execution goes on as if the order had come to the state. The order itself is not moved.", scope: auth.Admin,
		method: http.MethodPost, path: taskPath + "/complete", grave: true,
		fields: []field{{name: "output", label: "Output of the task, as JSON", kind: "area"}},
		body: func(v values) (any, error) {
			if strings.TrimSpace(v["output"]) == "" {
				return none(v)
			}

			if !json.Valid([]byte(v["output"])) {
				return nil, fault("output: JSON")
			}

			return map[string]any{"output": json.RawMessage(v["output"])}, nil
		},
		command: "ratchet tasks complete {order} --state {state}",
	},
	{
		name: "fail-task", title: "Fail the wait for {state}", does: "The execution continues with its Catch for the error, or fails.", scope: auth.Admin,
		method: http.MethodPost, path: taskPath + "/fail", grave: true,
		fields: []field{{name: "error", label: "Error", kind: "text", hint: "Empty: Order.WrongState, with which it goes on from where the order is."}},
		body: func(v values) (any, error) {
			if v["error"] == "" {
				return none(v)
			}

			return map[string]any{"error": v["error"], "cause": v[reasonValue]}, nil
		},
		command: "ratchet tasks fail {order} --state {state}",
	},
	{
		name: "refund", title: "Refund", does: "Gives money of a captured payment back, at the bank and in the ledger. The order is not moved.", scope: auth.Act,
		method: http.MethodPut, path: paymentPath + "/refunds/{key}", fixed: []string{"order"}, grave: true,
		fields: []field{{name: "amount", label: "Amount, in minor units", kind: "number", needed: true}},
		body: func(v values) (any, error) {
			amount, err := v.number("amount")
			return map[string]any{"amount": amount}, err
		},
		command: "ratchet payments refund {payment} {key} --amount {amount}",
	},
	{
		name: "void", title: "Void", does: "Releases what was authorized and not captured.", scope: auth.Act,
		method: http.MethodPost, path: paymentPath + "/void", fixed: []string{"order"}, grave: true,
		command: "ratchet payments void {payment}",
	},
	{
		name: "create-endpoint", title: "Create an endpoint", does: "The endpoint gets notifications of orders. Its secret is shown once, after it was made.", scope: auth.Admin, personal: true,
		method: http.MethodPut, path: endpointPath,
		fields: []field{
			{name: "endpoint", label: "Id", kind: "text", needed: true, hint: "a-z, 0-9 and -"},
			{name: "destination", label: "Destination", kind: "text", needed: true, hint: "https://…"}, {name: "description", label: "Description", kind: "text"},
		},
		body: func(v values) (any, error) {
			body := map[string]any{"destination": v["destination"]}
			if v["description"] != "" {
				body["description"] = v["description"]
			}

			return body, nil
		},
		command: "ratchet endpoints create {endpoint} {destination}",
	},
	{
		name: "test-endpoint", title: "Test", does: "Sends a test message now, and shows the answer.", scope: auth.Admin,
		method: http.MethodPost, path: endpointPath + "/test", command: "ratchet endpoints test {endpoint}",
	},
	{
		name: "disable-endpoint", title: "Disable", does: "Keeps notifications from the endpoint: they are skipped until it is enabled.", scope: auth.Admin,
		method: http.MethodPost, path: endpointPath + "/disable", command: "ratchet endpoints disable {endpoint}",
	},
	{
		name: "enable-endpoint", title: "Enable", does: "Lets the endpoint get notifications again.", scope: auth.Admin,
		method: http.MethodPost, path: endpointPath + "/enable", command: "ratchet endpoints enable {endpoint}",
	},
	{
		name: "rotate-endpoint", title: "New secret", does: "Signs with a new secret, and for a day with the old one, too. The new secret is shown once.", scope: auth.Admin,
		method: http.MethodPost, path: endpointPath + "/rotate-secret", body: none, grave: true, command: "ratchet endpoints rotate-secret {endpoint}",
	},
	{
		name: "pause-handler", title: "Pause", does: "Stops the calls of the handler. Its changes wait.", scope: auth.Admin,
		method: http.MethodPost, path: "/v1/stream/handlers/{handler}/pause", stream: true, command: "ratchet streams pause {handler}",
	},
	{
		name: "resume-handler", title: "Resume", does: "Lets the handler go on with what waits, the oldest change of each order first.", scope: auth.Admin,
		method: http.MethodPost, path: "/v1/stream/handlers/{handler}/resume", stream: true, command: "ratchet streams resume {handler}",
	},
	{
		name: "redrive-execution", title: "Redrive the execution", does: "Step Functions runs the failed state again.", scope: auth.Admin,
		method: http.MethodPost, path: orderPath + "/execution/redrive", command: "ratchet executions redrive {order}",
	},
	{
		name: "repair-execution", title: "Repair", does: "Makes the order move again that its execution no longer brings on: by a redrive if Step Functions allows that, else by a successor that adopts the order where it is.",
		scope: auth.Admin, method: http.MethodPost, path: orderPath + "/execution/repair",
		fields: []field{{name: "successor", label: "A successor also where a redrive is possible", kind: "check"}},
		body:   func(v values) (any, error) { return map[string]any{"successor": v["successor"] != ""}, nil },

		command: "ratchet executions repair {order}",
	},
	{
		name: "book-again", title: "Book another shipment", does: "Books a shipment in the place of one that the carrier has canceled. The carrier is asked first; an order on hold is released.", scope: auth.Admin,
		method: http.MethodPost, path: orderPath + "/shipment/book-again", command: "ratchet shipments book-again {order} --reason {reason}",
	},
	{
		name: "erase", title: "Erase the person", does: "Removes customer, reference, addresses, metadata and notes from the order and from all that is stored about it. Nothing brings them back.", scope: auth.Admin,
		method: http.MethodPost, path: orderPath + "/erase", body: none, grave: true, command: "ratchet orders erase {order}",
	},
}

// actNamed returns the act.
func actNamed(name string) (act, bool) {
	i := slices.IndexFunc(acts, func(a act) bool { return a.name == name })
	if i < 0 {
		return act{}, false
	}

	return acts[i], true
}

// lines returns the lines of a text as names and values.
func lines(text string) (map[string]string, error) {
	found := map[string]string{}

	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" {
			continue
		}

		name, value, ok := strings.Cut(line, "=")
		if !ok {
			return nil, fault(fmt.Sprintf("%.40q: NAME=VALUE", line))
		}
		found[strings.TrimSpace(name)] = strings.TrimSpace(value)
	}

	return found, nil
}

// pairs returns the values of guards: whole numbers, true and false have their type.
func pairs(text string) (map[string]any, error) {
	given, err := lines(text)
	found := map[string]any{}

	for name, value := range given {
		switch n, notNumber := strconv.ParseInt(value, 10, 64); {
		case notNumber == nil:
			found[name] = n
		case value == "true" || value == "false":
			found[name] = value == "true"
		default:
			found[name] = value
		}
	}

	return found, err
}

// button leads to the form of an act.
type button struct {
	title, address string
	grave          bool
}

// may reports whether the session may do the act.
func (v *visit) may(a act) bool {
	return v.by.May(a.scope) && (!a.personal || v.by.Personal) && (!a.stream || v.by.Tenant == auth.DefaultTenant)
}

// button returns the button of an act, none if the session may not do it. Names and values follow in turn.
func (v *visit) button(name string, parameters ...string) []button {
	a, found := actNamed(name)
	if !found || !v.may(a) {
		return nil
	}

	given := values{}
	for pair := range slices.Chunk(parameters, 2) {
		given[pair[0]] = pair[1]
	}

	return []button{{fill(a.title, given, func(s string) string { return s }), with(Path+"/act/"+name, parameters...), a.grave}}
}
