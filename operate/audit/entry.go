package audit

import (
	"time"

	"ratchet/internal/dynamo"
)

// Result is how an act ended.
type Result string

// The results of acts.
const (
	// Begun: the act has no result. It runs, or the process died while it ran.
	Begun Result = "begun"
	// Done: the act was done.
	Done Result = "done"
	// Refused: the act was refused; nothing has changed.
	Refused Result = "refused"
	// Failed: the act ended with an error; something may have changed.
	Failed Result = "failed"
)

// Entry is the row of an act.
type Entry struct {
	// ID is the row's place in the order of time, unique.
	ID string `json:"id"`
	// At is when the act began, EndedAt when its result was written.
	At      time.Time `json:"at"`
	EndedAt time.Time `json:"endedAt,omitzero"`
	// Who has done the act: "cli:" and the user's name, "key:" and the id of an API key, and so on.
	Who string `json:"who"`
	// Via is the way by which the act came: "cli", "api", "console" or "job". From is the machine of a
	// command, the address of an API's caller.
	Via  string `json:"via"`
	From string `json:"from,omitempty"`
	// Tenant is the tenant of the API's caller, "" for the default one.
	Tenant string `json:"tenant,omitempty"`
	// Act is the command without "ratchet", or the operation of the API.
	Act string `json:"act"`
	// On are the ids of the things that the act is done to, and the filters that select them.
	On string `json:"on,omitempty"`
	// Reason is the reason that the person gave.
	Reason string `json:"reason,omitempty"`
	// Request is the id of the API's request.
	Request string `json:"request,omitempty"`
	Result  Result `json:"result"`
	// Code says more about the result: the code of an API's problem, or the exit status of a
	// command.
	Code string `json:"code,omitempty"`
}

// The attributes of the table. ExpiryAttribute is the attribute of the table's time to live.
const (
	dayKey          = "day"
	placeKey        = "place"
	beganAttribute  = "began"
	endedAttribute  = "ended"
	resultAttribute = "result"
	codeAttribute   = "code"
	ExpiryAttribute = "expiresAt"
)

// MaxText is the bound of [Entry.On] and of [Entry.Reason] in bytes.
const MaxText = 160

// The bounds of the other fields in bytes. All together they fit into one write unit of 1 KB.
const (
	maxWho  = 80
	maxName = 64
	maxCode = 64
)

// field is a text of an entry as an attribute.
type field struct {
	name string
	text *string
	most int
}

func (e *Entry) fields() []field {
	return []field{
		{"who", &e.Who, maxWho},
		{"via", &e.Via, maxName},
		{"from", &e.From, maxName},
		{"tenant", &e.Tenant, maxName},
		{"act", &e.Act, maxName},
		{"on", &e.On, MaxText},
		{"reason", &e.Reason, MaxText},
		{"request", &e.Request, maxName},
		{codeAttribute, &e.Code, maxCode},
	}
}

// item returns the entry as it is stored. Fields that are too long are cut, empty ones left out.
func (e *Entry) item() dynamo.Item {
	item := dynamo.Item{
		dayKey:         dynamo.S(dayOf(e.At)),
		placeKey:       dynamo.S(e.ID),
		beganAttribute: dynamo.Millis(e.At),
	}

	for _, f := range e.fields() {
		if *f.text = dynamo.Cut(*f.text, f.most); *f.text != "" {
			item[f.name] = dynamo.S(*f.text)
		}
	}

	return item
}

// entryOf decodes a row.
func entryOf(item dynamo.Item) Entry {
	e := Entry{
		ID:      dynamo.Text(item, placeKey),
		At:      dynamo.Time(item, beganAttribute),
		EndedAt: dynamo.Time(item, endedAttribute),
		Result:  Result(dynamo.Text(item, resultAttribute)),
	}
	// Begin writes no result: a row without one is an act that runs or was interrupted.
	if e.Result == "" {
		e.Result = Begun
	}

	for _, f := range e.fields() {
		*f.text = dynamo.Text(item, f.name)
	}

	return e
}

// dayLayout and placeLayout format times so that texts sort as times do.
const (
	dayLayout   = "2006-01-02"
	placeLayout = "2006-01-02T15:04:05.000000000Z"
)

func dayOf(t time.Time) string   { return t.UTC().Format(dayLayout) }
func placeOf(t time.Time) string { return t.UTC().Format(placeLayout) }
