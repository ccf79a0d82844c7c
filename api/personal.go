package api

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/url"
	"reflect"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/go-json-experiment/json/jsontext"

	"ratchet/operate/inspect"
)

// masked stands in an answer for a value that may concern a person, if the caller has no grant for personal
// data. It is reserved: no request may contain it as a value.
const masked = "[masked]"

// maskedRule is the rule of a request's member that contains the reserved form.
const maskedRule = "must not contain " + masked + ", which stands in answers for a value that the caller may not see"

// A member of an answer that can hold something of a person has the tag personal, with one of these rules. A new
// member needs a decision: TestNoMemberShowsAPerson plants a mark in every text that a request can carry, and looks
// for it in every answer. docs/guides/api.md says what each rule means for callers.
const (
	maskAll         = "text"        // the value as a whole: texts, maps with their names, any JSON
	maskActor       = "actor"       // unless a key, or a part of the service, acted, or the caller itself
	maskCode        = "code"        // unless it has the form of a code that programs compare
	maskDestination = "destination" // all but the kind, and the host of a web address or the name of an AWS resource
)

var maskRules = map[string]func(c caller, text string) string{
	maskAll:         func(caller, string) string { return masked },
	maskActor:       caller.maskActor,
	maskCode:        func(_ caller, text string) string { return maskUnlessCode(text) },
	maskDestination: func(_ caller, text string) string { return maskTarget(text) },
}

// maskAnswer replaces the members that the caller may not see. It changes the structs of the answer, and replaces
// maps and lists of texts, which may belong to the order that the answer shows.
func (c caller) maskAnswer(answer any) {
	if !c.Personal {
		c.maskValue(reflect.ValueOf(answer))
	}
}

var timeType = reflect.TypeFor[time.Time]()

func (c caller) maskValue(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			c.maskValue(v.Elem())
		}
	case reflect.Slice:
		for i := range v.Len() {
			c.maskValue(v.Index(i))
		}
	case reflect.Struct:
		if v.Type() == timeType {
			return
		}

		for i := range v.NumField() {
			member := v.Type().Field(i)

			switch field, rule := v.Field(i), member.Tag.Get("personal"); {
			case !member.IsExported() && !member.Anonymous, field.IsZero():
			case rule != "":
				c.maskMember(field, rule)
			default:
				c.maskValue(field)
			}
		}
	}
}

// maskMember replaces the value of a member that has the rule.
func (c caller) maskMember(field reflect.Value, rule string) {
	switch old := field.Interface().(type) {
	case string:
		field.SetString(maskRules[rule](c, old))
	case []string:
		if len(old) > 0 {
			field.Set(reflect.ValueOf([]string{masked}))
		}
	case map[string]string:
		if len(old) > 0 {
			field.Set(reflect.ValueOf(map[string]string{masked: masked}))
		}
	case ownShown:
		field.Set(reflect.ValueOf(maskedOwn()))
	case json.RawMessage:
		if len(old) > 0 {
			field.SetBytes([]byte(`"` + masked + `"`))
		}
	default:
		panic("api: no rule masks a member of type " + field.Type().String())
	}
}

// impersonal begin the actors that are no persons: a key, an execution, a reaction of the stream, and the
// carrier.
var impersonal = []string{"key:", "execution:", "reaction:", "carrier"}

// maskActor masks who acted. The subject of a token and the user of a command may be the name of a person.
func (c caller) maskActor(actor string) string {
	if actor == c.ID || actor == actorOf(c.ID) {
		return actor
	}

	for _, prefix := range impersonal {
		if strings.HasPrefix(actor, prefix) {
			return actor
		}
	}

	// Its kind stays, like oidc or cli.
	if kind, _, has := strings.Cut(actor, ":"); has {
		return kind + ":" + masked
	}

	return masked
}

var codeRule = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Z][A-Za-z0-9]*(\.[A-Za-z0-9_]+)*$`) })

// maskUnlessCode masks the name of an error that does not have the form of one, such as Order.Invalid or States.Timeout.
func maskUnlessCode(text string) string {
	if codeRule().MatchString(text) {
		return text
	}

	return masked
}

// maskTarget masks a destination of notifications, so that its kind stays, and what names a machine or a resource
// of AWS.
func maskTarget(destination string) string {
	kind, _, _ := strings.Cut(destination, ":")

	switch kind {
	case "sqs", "sns", "eventbridge", "log", "none":
		return destination
	case "http", "https":
		if u, err := url.Parse(destination); err == nil && u.Host != "" {
			return kind + "://" + u.Host + "/" + masked
		}
	}

	return kind + ":" + masked
}

// holdsMasked reports whether the text contains the reserved form, also in a text within JSON that it is.
func holdsMasked(text string) bool {
	if strings.Contains(text, masked) {
		return true
	}

	// Only an escape sequence can hide the form from the comparison.
	if !strings.Contains(text, `\`) {
		return false
	}

	d := jsontext.NewDecoder(strings.NewReader(text), jsontext.AllowDuplicateNames(true))
	for {
		token, err := d.ReadToken()
		if err != nil {
			return false
		}

		// What is inside is shorter than the text, so this ends.
		if token.Kind() == '"' && holdsMasked(token.String()) {
			return true
		}
	}
}

// refuseMasked refuses a body with a member or a name that contains the reserved form. A caller has sent back what
// it was not allowed to see. The body is valid JSON.
func refuseMasked(body []byte) *problem {
	if !bytes.Contains(body, []byte(masked)) && !bytes.Contains(body, []byte(`\`)) {
		return nil
	}

	d := jsontext.NewDecoder(bytes.NewReader(body))
	for {
		token, err := d.ReadToken()
		if err != nil {
			return nil //nolint:nilerr // the end of the body, which was checked before
		}

		if token.Kind() == '"' && holdsMasked(token.String()) {
			return newProblem(http.StatusUnprocessableEntity, "invalid_request", "The body contains a value that stands for another one.").
				withField("body", string(d.StackPointer()), maskedRule)
		}
	}
}

// needsGrant is the problem of a request that a caller without the grant for personal data may not make. in and
// pointer name what needs it, "" for the request as a whole.
func needsGrant(in, pointer string) *problem {
	p := newProblem(http.StatusForbidden, "forbidden", "This request needs a credential with the grant for personal data.")
	if in == "" {
		return p
	}

	return p.withField(in, pointer, "the answer would confirm a guess of personal data")
}

// maySearch returns the problem of a caller that searches by personal data without the right to see personal data.
func (c caller) maySearch(in, pointer, value string) *problem {
	if value == "" || c.Personal {
		return nil
	}

	return needsGrant(in, pointer)
}

// maskProblems masks the texts of errors and reasons that the problems of a status quote.
func (c caller) maskProblems(problems []statusProblem, status inspect.SystemStatus) {
	if c.Personal {
		return
	}

	quoted := make([]string, 0, 2*(len(status.Handlers)+len(status.Endpoints)))
	for _, h := range status.Handlers {
		if h.Error != "" {
			quoted = append(quoted, h.Error, masked)
		}
	}

	for _, e := range status.Endpoints {
		if e.Reason != "" {
			quoted = append(quoted, e.Reason, masked)
		}
	}

	replacer := strings.NewReplacer(quoted...)
	for i := range problems {
		problems[i].Text = replacer.Replace(problems[i].Text)
	}
}

// resolved returns the schema that a reference names, and any other schema itself.
func resolved(doc *huma.OpenAPI, schema *huma.Schema) *huma.Schema {
	if schema.Ref != "" {
		return doc.Components.Schemas.SchemaFromRef(schema.Ref)
	}

	return schema
}

// describeMasks marks the members of an answer that are masked, in the document.
func describeMasks(doc *huma.OpenAPI, schema *huma.Schema, shown reflect.Type) {
	for shown.Kind() == reflect.Pointer || shown.Kind() == reflect.Slice {
		shown = shown.Elem()

		if schema.Items != nil {
			schema = schema.Items
		}
	}

	schema = resolved(doc, schema)
	if shown.Kind() != reflect.Struct || schema == nil {
		return
	}

	for _, field := range reflect.VisibleFields(shown) {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")

		member := schema.Properties[name]
		if member == nil {
			continue
		}

		switch rule := field.Tag.Get("personal"); {
		case rule == "":
			describeMasks(doc, member, field.Type)
		case maskRules[rule] == nil:
			panic("api: no rule " + rule + " for the member " + name)
		default:
			member.Extensions = map[string]any{"x-personal": rule}
		}
	}
}
