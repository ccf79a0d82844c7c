package console

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"ratchet/api"
	"ratchet/console/session"
)

// The values that every form has.
const (
	keyValue     = "key"     // names the request: a repeat has no second effect
	reasonValue  = "reason"  // why
	confirmValue = "confirm" // the subject of a grave act, typed
	seenValue    = "seen"    // the ETag of the order that the person has seen
	backValue    = "back"    // the page to go back to
	dryValue     = "dryRun"  // set: the act only counts
)

// maxForm bounds the body of a form, in bytes.
const maxForm = 256 << 10

var keyRule = regexp.MustCompile(`^c-[A-Z2-7]{26}$`)

// jobRule matches the id of a job.
var jobRule = regexp.MustCompile(`\b[0-9]{8}T[0-9.]+-[A-Z2-7]+\b`)

func newKey() string { return "c-" + rand.Text() }

// shown is the form of an act as it is shown.
type shown struct {
	act
	values
	heading string
	// confirm is what the person types to confirm a grave act, "" for another one.
	confirm string
	preview *preview
	fault   string
	// about is the page of what stands in the way, "" if it has none.
	about string
	// asCurl and asCommand are the act as commands.
	asCurl, asCommand string
	// tenant is the session's, as the command line has it.
	tenant string
}

// outcome is what has become of an act.
type outcome struct {
	shown
	unknown, replayed bool
	// secret is shown once.
	secret string
	// answer is the API's, for people.
	answer string
	// made is the page of the thing that the act creates, "" if it creates none.
	made string
}

// startsJob reports whether the act only stores what a worker does.
func (s shown) startsJob() bool { return s.path == "/v1/jobs" }

// fact is a name with a value on a page.
type fact struct{ name, value string }

// ids of the form that the person does not type.
func (s shown) facts() (facts []fact) {
	for _, name := range append(s.act.ids(), s.fixed...) {
		if value := s.values[name]; value != "" && !s.typed(name) {
			facts = append(facts, fact{name, value})
		}
	}

	return facts
}

// hidden are the values that the form sends again.
func (s shown) hidden() (hidden []fact) {
	hidden = s.facts()
	for _, name := range []string{keyValue, seenValue, backValue} {
		if s.values[name] != "" {
			hidden = append(hidden, fact{name, s.values[name]})
		}
	}

	return hidden
}

// all are all values of the form, for a repeat of exactly this request.
func (s shown) all() (all []fact) {
	all = s.hidden()
	for _, f := range s.fields {
		if s.values[f.name] != "" {
			all = append(all, fact{f.name, s.values[f.name]})
		}
	}

	return append(all, fact{reasonValue, s.values[reasonValue]}, fact{confirmValue, s.values[confirmValue]})
}

// forReal are the values of the form of a dry run, for a form that does the same.
func (s shown) forReal() (all []fact) {
	all = slices.DeleteFunc(s.all(), func(f fact) bool {
		return slices.Contains([]string{keyValue, seenValue, confirmValue, dryValue}, f.name)
	})

	return append(all, fact{dryValue, ""})
}

func (h *handler) actRoutes() {
	h.mux.HandleFunc("GET "+Path+"/act/{act}", h.actForm)
	h.mux.HandleFunc("POST "+Path+"/act/{act}", h.actDone)
	// The form about rows that a person has selected: they are too many for an address.
	h.mux.HandleFunc("POST "+Path+"/act/{act}/form", h.actForm)
}

// takeAct returns the visit and the act that a request is about, with those values that the act has. It answers requests that are
// about none.
func (h *handler) takeAct(w http.ResponseWriter, r *http.Request) (v *visit, s shown, ok bool) {
	v, ok = h.begin(w, r)
	if !ok {
		return nil, shown{}, false
	}

	a, found := actNamed(r.PathValue("act"))
	r.Body = http.MaxBytesReader(w, r.Body, maxForm)

	if err := r.ParseForm(); !found || err != nil {
		h.noPage(w, r)
		return nil, shown{}, false
	}

	// A form's values come from its body, those of a button from the address.
	given := r.PostForm
	if r.Method != http.MethodPost {
		given = r.URL.Query()
	}
	s = shown{act: a, values: values{}}

	for _, name := range slices.Concat(a.ids(), a.fixed, []string{keyValue, reasonValue, confirmValue, seenValue, backValue}) {
		s.values[name] = given.Get(name)
	}

	fresh := r.Method != http.MethodPost || strings.HasSuffix(r.URL.Path, "/form")
	for _, f := range a.fields {
		s.values[f.name] = strings.Join(given[f.name], "\n")

		if fresh && !given.Has(f.name) {
			s.values[f.name] = f.preset
		}
	}
	s.values[backValue] = s.back()
	s.tenant = string(v.by.Tenant)
	s.heading = fill(a.title, s.values, func(text string) string { return text })

	for _, id := range append(a.ids(), a.fixed...) {
		if s.values[id] == "" && !a.typed(id) && !slices.Contains([]string{"order", "incarnation"}, id) {
			h.noPage(w, r)
			return nil, shown{}, false
		}
	}

	return v, s, true
}

// back is the page that shows what the act was about.
func (s shown) back() string {
	switch v := s.values; {
	case s.page != "":
		return fill(s.page, v, func(id string) string { return pathTo("%s", id) })
	case v["order"] != "":
		return pathTo(Path+"/orders/%s", v["order"])
	case v["letter"] != "":
		return with(Path+"/dead-letters", "handler", v["handler"])
	case v["handler"] != "":
		return Path + "/stream"
	case slices.Contains(s.act.ids(), "endpoint"):
		return Path + "/deliveries"
	}

	return session.Local(s.values[backValue])
}

func (h *handler) actForm(w http.ResponseWriter, r *http.Request) {
	if v, s, ok := h.takeAct(w, r); ok {
		h.writeForm(w, r, v, s, http.StatusOK)
	}
}

// writeForm shows a form with a new key: the act was not done.
func (h *handler) writeForm(w http.ResponseWriter, r *http.Request, v *visit, s shown, status int) {
	s.values[keyValue], s.values[confirmValue] = newKey(), ""

	if err := s.look(r.Context(), v); err != nil {
		h.writeProblem(w, r, v, err)
		return
	}
	s.asCurl, s.asCommand = s.curlLine(), s.commandLine()

	h.write(w, r, status, h.shellOf(v, s.heading), actPage(s), v.curl())
}

// writeProblem shows why a page cannot be shown.
func (h *handler) writeProblem(w http.ResponseWriter, r *http.Request, v *visit, err error) {
	c, status := h.load(r.Context(), v, page{load: func(context.Context, *visit) (content, error) { return content{}, err }})
	h.write(w, r, status, h.shellOf(v, c.title), c.body, v.curl())
}

// look reads what the form shows beside its fields: the order as it is, and what the act would do.
func (s *shown) look(ctx context.Context, v *visit) error {
	if err := s.askConfirmation(ctx, v); err != nil {
		return err
	}

	if s.seen {
		etag, err := v.etag(ctx, pathTo("/v1/orders/%s", s.values["order"]))
		if err != nil {
			return err
		}
		s.values[seenValue] = etag
	}

	p, err := previewOf(ctx, v, s)
	s.preview = p

	return err
}

// askConfirmation sets what the person types to confirm the act, if nothing undoes it.
func (s *shown) askConfirmation(ctx context.Context, v *visit) error {
	s.confirm = ""

	grave, err := s.isGrave(ctx, v)
	if grave {
		s.confirm = s.subject(s.values)
	}

	return err
}

// isGrave reports whether nothing undoes the act. An event is grave if it leads to a state without a way out.
func (s *shown) isGrave(ctx context.Context, v *visit) (bool, error) {
	if s.name != "apply" && s.name != "schedule" {
		return s.grave && s.values[dryValue] == "", nil
	}

	var d definition
	if err := v.get(ctx, "/v1/workflow", &d); err != nil {
		return false, err
	}

	return d.ends(s.values["event"]), nil
}

// ends reports whether the event may lead to a state that no event leaves.
func (d definition) ends(event string) bool {
	for _, t := range d.Transitions {
		if t.Event == event && d.isTerminal(t.To) {
			return true
		}
	}

	return false
}

// isTerminal reports whether no event leaves the state.
func (d definition) isTerminal(state string) bool {
	for _, s := range d.States {
		if s.State == state {
			return s.Terminal
		}
	}

	return false
}

// check returns the fault of a form.
func (s *shown) check() error {
	reason := s.values[reasonValue]

	switch {
	case reason == "":
		return fault("Say why: everybody who reads the audit will ask.")
	case len(reason) > api.MaxReason:
		return fault(fmt.Sprintf("The reason has %d bytes, at most %d.", len(reason), api.MaxReason))
	case !utf8.ValidString(reason) || strings.ContainsFunc(reason, unicode.IsControl):
		return fault("The reason has characters that cannot be printed.")
	case s.confirm != "" && s.values[confirmValue] != s.confirm:
		return fault("Type " + s.confirm + " to confirm: nothing undoes this.")
	}

	for _, f := range s.fields {
		if f.needed && strings.TrimSpace(s.values[f.name]) == "" {
			return fault(f.label + ": must not be empty.")
		}
	}

	return nil
}

// actDone does the act.
func (h *handler) actDone(w http.ResponseWriter, r *http.Request) {
	v, s, ok := h.takeAct(w, r)
	if !ok {
		return
	}
	s.values[reasonValue] = strings.TrimSpace(s.values[reasonValue])

	if !keyRule.MatchString(s.values[keyValue]) {
		h.noPage(w, r)
		return
	}

	if err := s.askConfirmation(r.Context(), v); err != nil {
		h.writeProblem(w, r, v, err)
		return
	}

	body, err := s.request()

	if err := errors.Join(s.check(), err); err != nil {
		s.fault = err.Error()
		h.writeForm(w, r, v, s, http.StatusUnprocessableEntity)

		return
	}

	h.writeOutcome(w, r, v, s, v.send(r.Context(), s, body))
}

// request returns the body of the request, nil for none.
func (s *shown) request() ([]byte, error) {
	if s.body == nil {
		return nil, nil
	}

	content, err := s.body(s.values)
	if err != nil {
		return nil, err
	}

	return json.Marshal(content)
}

// address is the path of the request.
func (s *shown) address() string {
	return fill(s.path, s.values, func(id string) string { return pathTo("%s", id) })
}

// headers are those of the request, in the order in which they are shown.
func (s *shown) headers() (headers []fact) {
	headers = append(headers, fact{api.ReasonHeader, s.values[reasonValue]})

	if !strings.Contains(s.path, "{"+keyValue+"}") {
		headers = append(headers, fact{"Idempotency-Key", s.values[keyValue]})
	}

	if s.values[seenValue] != "" {
		headers = append(headers, fact{"If-Match", s.values[seenValue]})
	}

	return headers
}

// writeOutcome says what has become of an act. A refusal shows the form again, with what is now.
func (h *handler) writeOutcome(w http.ResponseWriter, r *http.Request, v *visit, s shown, a *answer) {
	s.asCurl, s.asCommand = s.curlLine(), s.commandLine()
	refused := &problem{}

	switch {
	case a.status >= http.StatusOK && a.status < http.StatusMultipleChoices && a.err == nil:
		o := outcome{shown: s, replayed: a.header.Get("Idempotent-Replayed") == "true"}
		o.secret, o.answer = readable(a.body.Bytes())
		o.made = s.madePage(a.body.Bytes())
		h.write(w, r, http.StatusOK, h.shellOf(v, s.heading), outcomePage(o), nil)

		return
	case json.Unmarshal(a.body.Bytes(), refused) != nil || refused.Status == 0 || refused.isUnknown():
		h.write(w, r, http.StatusAccepted, h.shellOf(v, s.heading), outcomePage(outcome{shown: s, unknown: true, answer: refused.Detail}), nil)

		return
	case refused.Status == http.StatusUnauthorized:
		h.stranger(w, r)
		return
	case refused.Status == http.StatusForbidden, refused.Status == http.StatusNotFound:
		h.writeProblem(w, r, v, refused)
		return
	}

	s.fault = refused.title() + ": " + refused.text()
	// Another job of the kind is open.
	if id := jobRule.FindString(refused.Detail); id != "" && refused.Code == "job_open" {
		s.about = pathTo(Path+"/jobs/%s", id)
	}
	h.writeForm(w, r, v, s, refused.Status)
}

// madePage is the page of the thing that the act has created.
func (s *shown) madePage(body []byte) string {
	var made struct{ ID string }
	if s.made == "" || json.Unmarshal(body, &made) != nil || made.ID == "" {
		return ""
	}

	return pathTo(s.made, made.ID)
}

// isUnknown reports whether the request may have had its effect.
func (p *problem) isUnknown() bool {
	switch p.Code {
	// The API says that nothing was done.
	case "audit_unavailable", "overloaded", "disk_full", "not_configured", "not_ready", "journal_behind":
		return false
	// Another try of the same request runs, or has ended without a word.
	case "in_progress", "unknown_outcome", "result_unavailable":
		return true
	}

	return p.Status >= http.StatusInternalServerError
}

// readable returns the secret in an answer, and the answer without it as lines.
func readable(body []byte) (secret, text string) {
	var members map[string]any

	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.UseNumber()

	if decoder.Decode(&members) != nil {
		return "", ""
	}
	secret, _ = members["secret"].(string)
	delete(members, "secret")

	indented, err := json.MarshalIndent(members, "", "  ")
	if err != nil || len(members) == 0 {
		return secret, ""
	}

	return secret, string(indented)
}

// shellOf is the shell of a page for the visitor.
func (h *handler) shellOf(v *visit, title string) shell {
	return shell{title: title, who: v.by.ID, tenant: string(v.by.Tenant), scope: string(v.by.Scope), logout: h.cfg.Login != nil}
}
