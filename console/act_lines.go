package console

import (
	"cmp"
	"encoding/base64"
	"fmt"
	"maps"
	"regexp"
	"strings"

	"ratchet/api/auth"
)

// quoted writes a word of a shell.
func quoted(word string) string {
	if plainWord.MatchString(word) {
		return word
	}

	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

var plainWord = regexp.MustCompile(`^[A-Za-z0-9_./:@%+,-]+$`)

// curlLine is the request as a command. Before there is a reason, it has a word in its place.
func (s shown) curlLine() string {
	s.values = maps.Clone(s.values)
	s.values[reasonValue] = cmp.Or(s.values[reasonValue], "WHY")

	var b strings.Builder
	fmt.Fprintf(&b, `curl -X %s "$RATCHET_API%s" -H "Authorization: Bearer $RATCHET_API_KEY"`, s.method, s.address())

	for _, header := range s.headers() {
		fmt.Fprintf(&b, " -H %s", quoted(header.name+": "+header.value))
	}

	if body, err := s.request(); err == nil && body != nil {
		fmt.Fprintf(&b, " -H 'Content-Type: application/json' -d %s", quoted(string(body)))
	}

	return b.String()
}

// commandLine is the same act on the command line.
func (s *shown) commandLine() string {
	line := fill(s.command, s.stored(), func(value string) string {
		if value == "" {
			return "…"
		}

		return quoted(value)
	})

	for _, f := range s.fields {
		switch value := s.stored()[f.name]; {
		case f.flag == "" || value == "":
		case f.kind == "check":
			line += " " + f.flag
		default:
			line += " " + f.flag + " " + quoted(f.onCommandLine(value))
		}
	}

	if strings.HasPrefix(s.command, "ratchet jobs ") && s.tenant != string(auth.DefaultTenant) {
		line += " --tenant " + s.tenant
	}

	if s.arguments != nil {
		for _, argument := range s.arguments(s.tenant, s.values) {
			line += " " + quoted(argument)
		}
	}

	return line
}

// stored are the values as the command line has them. It works for all tenants, so an id has its tenant's name.
func (s *shown) stored() values {
	stored := maps.Clone(s.values)

	for _, name := range []string{"order", "endpoint", "payment"} {
		if stored[name] != "" {
			stored[name] = storedID(s.tenant, stored[name])
		}
	}

	// The API encodes the id of a dead letter, and the command line does not.
	if id, err := base64.RawURLEncoding.DecodeString(stored["letter"]); err == nil && len(id) > 0 {
		stored["letter"] = string(id)
	}

	return stored
}

// storedID is the tenant's id as the command line has it.
func storedID(tenant, id string) string {
	if tenant == string(auth.DefaultTenant) {
		return id
	}

	return tenant + ":" + id
}

// onCommandLine is a value of the field as a flag has it.
func (f field) onCommandLine(value string) string {
	if f.file != "" {
		return f.file
	}

	if at, err := utc(value); f.kind == "datetime-local" && err == nil {
		return at
	}

	return value
}
