package api_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"sync"
)

// answers are the document, and the schemas of the answers of each operation by method, path and status.
type answers struct {
	document document
	routes   []answerRoute
}

type answerRoute struct {
	method string
	path   *regexp.Regexp
	bodies map[string]schema
}

var pathParameter = regexp.MustCompile(`\\\{[^}]+\\\}`)

var documentedAnswers = sync.OnceValues(func() (answers, error) {
	doc, err := documentOnce()
	if err != nil {
		return answers{}, err
	}

	all := answers{document: doc}
	for path, methods := range doc.Paths {
		pattern := regexp.MustCompile("^" + pathParameter.ReplaceAllString(regexp.QuoteMeta(path), "[^/]+") + "$")
		for method, operation := range methods {
			route := answerRoute{strings.ToUpper(method), pattern, map[string]schema{}}
			for status, response := range operation.Responses {
				if body, is := response.Content["application/json"]; is {
					route.bodies[status] = body.Schema
				}
			}
			all.routes = append(all.routes, route)
		}
	}

	return all, nil
})

// documented fails the test if an answer has a member that its schema in the OpenAPI document has not.
func (s *apiServer) documented(method, path string, a answer) {
	s.t.Helper()

	var body any
	if a.StatusCode >= http.StatusMultipleChoices || json.Unmarshal([]byte(a.text), &body) != nil {
		return
	}

	all, err := documentedAnswers()
	if err != nil {
		s.t.Fatal(err)
	}

	path, _, _ = strings.Cut(path, "?")
	faults := []string{}

	for _, route := range all.routes {
		wanted, is := route.bodies[strconv.Itoa(a.StatusCode)]
		if !is || route.method != method || !route.path.MatchString(path) {
			continue
		}

		unknown := all.unknown(wanted, body, "")
		// A path may fit two operations, of which one has a name in the place of an id.
		if len(unknown) == 0 {
			return
		}
		faults = append(faults, unknown...)
	}

	if len(faults) > 0 {
		s.t.Errorf("%s %s answers what is not documented: %s", method, path, strings.Join(faults, ", "))
	}
}

// unknown returns the members that the schema has not.
func (d answers) unknown(s schema, value any, at string) (all []string) {
	s = d.document.resolve(s)

	switch v := value.(type) {
	case map[string]any:
		for name, member := range v {
			of, has := s.Properties[name]
			if !has && s.Additional == false {
				all = append(all, at+"/"+name)
				continue
			}
			all = append(all, d.unknown(of, member, at+"/"+name)...)
		}
	case []any:
		for i, element := range v {
			if s.Items != nil {
				all = append(all, d.unknown(*s.Items, element, fmt.Sprint(at, "/", i))...)
			}
		}
	}

	return all
}
