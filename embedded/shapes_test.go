package embedded

import (
	"fmt"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	"github.com/aws/aws-sdk-go-v2/service/sfn"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"ratchet/embedded/internal/wire"
)

// api is a service beside its API model: the SDK generates the types of its client from the model.
type api struct {
	service wire.Service
	client  reflect.Type
	// java begins the names of shapes in messages.
	java string
	// lower is set if members begin with a small letter on the wire.
	lower bool
}

func (f *fixture) apis() []api {
	return []api{
		{f.dynamodb.Wire(), reflect.TypeFor[*dynamodb.Client](), "com.amazonaws.dynamodb.v20120810.", false},
		{f.streams.Wire(), reflect.TypeFor[*dynamodbstreams.Client](), "com.amazonaws.dynamodb.v20120810.", false},
		{f.stepfunctions.Wire(), reflect.TypeFor[*sfn.Client](), "", true},
		{f.sqs.Wire(), reflect.TypeFor[*sqs.Client](), "com.amazonaws.sqs.", false},
	}
}

// input returns the model of an operation's request.
func (a *api) input(operation string) reflect.Type {
	m, _ := a.client.MethodByName(operation)
	return m.Type.In(2).Elem()
}

// spot is a place in a request. Its type is the SDK's, without pointers.
type spot struct {
	kind reflect.Type
	// parent is the type around it, nil at the top.
	parent reflect.Type
	// path leads to it. An element of a list is "0", a member of a map "k".
	path []string
}

// body returns a request with that JSON at the place and nothing else. In the map RequestItems the names are
// those of tables.
func (s *spot) body(value string) string {
	for i, name := range slices.Backward(s.path) {
		if name == "0" && i > 0 {
			value = "[" + value + "]"
		} else {
			value = `{"` + name + `":` + value + `}`
		}
	}

	return value
}

// spots returns the places in a type of the model. Values of attributes are one place: package attr tests
// what is in them.
func (a *api) spots(t, parent reflect.Type, path []string) (all []spot) {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}

	if parent != nil {
		all = append(all, spot{t, parent, path})
	}

	if len(path) > 6 {
		return all
	}

	switch t.Kind() {
	case reflect.Struct:
		if t == reflect.TypeFor[time.Time]() {
			break
		}

		for i := range t.NumField() {
			name := t.Field(i).Name
			if !t.Field(i).IsExported() || name == "ResultMetadata" {
				continue
			}

			if a.lower || t == reflect.TypeFor[sqs.CreateQueueInput]() && name == "Tags" {
				name = strings.ToLower(name[:1]) + name[1:]
			}

			all = append(all, a.spots(t.Field(i).Type, t, append(slices.Clip(path), name))...)
		}
	case reflect.Slice:
		if t.Elem().Kind() != reflect.Uint8 {
			all = append(all, a.spots(t.Elem(), t, append(slices.Clip(path), "0"))...)
		}
	case reflect.Map:
		all = append(all, a.spots(t.Elem(), t, append(slices.Clip(path), "key"))...)
	}

	return all
}

const cast = "class sun.reflect.generics.reflectiveObjects.ParameterizedTypeImpl cannot be cast to class java.lang.Class " +
	"(sun.reflect.generics.reflectiveObjects.ParameterizedTypeImpl and java.lang.Class are in module java.base of loader 'bootstrap')"

// javaOf returns the name of a type in messages.
func (a *api) javaOf(t reflect.Type, class string) string {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}

	switch t.Kind() {
	case reflect.Map:
		return "java.util.Map<java.lang.String, " + a.javaOf(t.Elem(), "") + ">"
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			return class + "java.nio.ByteBuffer"
		}

		return "java.util.List<" + a.javaOf(t.Elem(), "") + ">"
	case reflect.Struct, reflect.Interface:
		return class + a.java + t.Name()
	}

	return class + "java.lang." + map[reflect.Kind]string{reflect.Bool: "Boolean", reflect.Int32: "Integer", reflect.Int64: "Long",
		reflect.Float32: "Float", reflect.Float64: "Float", reflect.String: "String"}[t.Kind()]
}

// wrong returns JSON that does not fit the place, with the service's words.
// Source: https://github.com/architect/dynalite test/helpers.js (assertType), recorded on DynamoDB, and for
// SQS https://github.com/async-aws/aws/issues/1667. Words of Step Functions are not recorded.
func (a *api) wrong(s *spot) map[string]string {
	all := map[string]string{"[]": "Unrecognized collection type " + a.javaOf(s.kind, "class "), "{}": "Start of structure or map found where not expected"}
	scalars := func(words string) map[string]string {
		for _, v := range []string{`"23"`, "true", "23", "34.56"} {
			all[v] = words
		}

		return all
	}

	to := " cannot be converted to "
	if a.client != reflect.TypeFor[*dynamodb.Client]() && a.client != reflect.TypeFor[*dynamodbstreams.Client]() {
		to = " can not be converted to a "
		if s.kind.Kind() == reflect.Int32 {
			to = " can not be converted to an "
		}
	}
	to += strings.TrimPrefix(a.javaOf(s.kind, ""), "java.lang.")

	switch s.kind.Kind() {
	case reflect.Bool:
		all[`"23"`], all["23"], all["34.56"] = "Unexpected token received from parser", "NUMBER_VALUE"+to, "DECIMAL_VALUE"+to
	case reflect.String:
		all["true"], all["false"], all["23"], all["34.56"] = "TRUE_VALUE"+to, "FALSE_VALUE"+to, "NUMBER_VALUE"+to, "DECIMAL_VALUE"+to
	case reflect.Int32, reflect.Int64, reflect.Float32, reflect.Float64:
		all[`"23"`], all["true"], all["false"] = "STRING_VALUE"+to, "TRUE_VALUE"+to, "FALSE_VALUE"+to
	case reflect.Map:
		delete(all, "{}")

		if s.parent.Kind() == reflect.Slice {
			return scalars(cast)
		}

		return scalars("Unexpected field type")
	case reflect.Slice:
		if s.kind.Elem().Kind() == reflect.Uint8 {
			all["true"], all["23"] = "only base-64-encoded strings are convertible to bytes", "only base-64-encoded strings are convertible to bytes"
			return all
		}

		delete(all, "[]")

		if s.parent.Kind() == reflect.Map {
			return scalars(cast)
		}

		return scalars("Unexpected field type")
	case reflect.Struct, reflect.Interface:
		delete(all, "{}")

		if s.parent.Kind() == reflect.Struct {
			return scalars("Unexpected field type")
		}

		return scalars("Unexpected value type in payload")
	}

	return all
}

// refusedWhole are members that the engine refuses as a whole, so that it reads nothing in them.
var refusedWhole = []string{"ReplicaUpdates", "VectorIndexes", "VectorIndexUpdates", "GlobalTableWitnessUpdates"}

// read reports whether the engine reads the place.
func (s *spot) read() bool { return len(s.path) == 1 || !slices.Contains(refusedWhole, s.path[0]) }

// ask sends a body to an operation and returns the answer.
func (f *fixture) ask(a *api, operation, body string) (status int, answer map[string]any) {
	f.t.Helper()
	return post(f.t, f.HTTPClient(), "http://engine/", a.service.Target+"."+operation, body)
}

// TestWrongTypes sends JSON of a wrong type in place of every member of every operation's request.
func TestWrongTypes(t *testing.T) {
	if testing.Short() {
		t.Skip("one client, and many bodies")
	}

	f := open(t)

	for _, a := range f.apis() {
		for _, operation := range slices.Sorted(maps.Keys(a.service.Operations)) {
			for _, s := range a.spots(a.input(operation), nil, nil) {
				// A time has no recorded words.
				if !s.read() || s.kind == reflect.TypeFor[time.Time]() {
					continue
				}

				for value, want := range a.wrong(&s) {
					status, answer := f.ask(&a, operation, s.body(value))
					if status != http.StatusBadRequest || answer["__type"] != "com.amazon.coral.service#SerializationException" || answer["Message"] != want {
						t.Errorf("%s %s: %d %v, want %s", operation, s.body(value), status, answer, want)
					}
				}
			}
		}
	}
}

// TestWrongTypesInValues has the members of an attribute's value.
// Source: https://github.com/architect/dynalite test/helpers.js (assertType, AttrStruct)
func TestWrongTypesInValues(t *testing.T) {
	f := open(t)
	a := f.apis()[0]

	for value, want := range map[string]string{
		`{"S":7}`: "NUMBER_VALUE cannot be converted to String", `{"N":true}`: "TRUE_VALUE cannot be converted to String", `{"N":1.5}`: "DECIMAL_VALUE cannot be converted to String",
		`{"B":7}`: "only base-64-encoded strings are convertible to bytes", `{"B":{}}`: "Start of structure or map found where not expected",
		`{"BOOL":"x"}`: "Unexpected token received from parser", `{"NULL":7}`: "NUMBER_VALUE cannot be converted to Boolean",
		`{"SS":"x"}`: "Unexpected field type", `{"SS":[7]}`: "NUMBER_VALUE cannot be converted to String", `{"NS":[[]]}`: "Unrecognized collection type class java.lang.String",
		`{"BS":[7]}`: "only base-64-encoded strings are convertible to bytes", `{"BS":{}}`: "Start of structure or map found where not expected",
		`{"L":7}`: "Unexpected field type", `{"L":[7]}`: "Unexpected value type in payload", `{"L":[{"SS":[true]}]}`: "TRUE_VALUE cannot be converted to String",
		`{"M":7}`: "Unexpected field type", `{"M":{"a":7}}`: "Unexpected value type in payload", `{"M":{"a":{"BS":[{}]}}}`: "Start of structure or map found where not expected",
		`{"M":{"a":[]}}`: "Unrecognized collection type class com.amazonaws.dynamodb.v20120810.AttributeValue",
	} {
		for operation, body := range map[string]string{
			"PutItem":        `{"TableName":"orders","Item":{"v":` + value + `}}`,
			"BatchWriteItem": `{"RequestItems":{"orders":[{"PutRequest":{"Item":{"v":` + value + `}}}]}}`,
			"Query":          `{"KeyConditions":{"v":{"AttributeValueList":[` + value + `]}}}`,
		} {
			if _, answer := f.ask(&a, operation, body); answer["Message"] != want {
				t.Errorf("%s %s: %v, want %s", operation, body, answer, want)
			}
		}
	}
}

// TestBodiesThatAreNoRequest: the service answers all of them without a message.
// Source: https://github.com/architect/dynalite test/connection.js
func TestBodiesThatAreNoRequest(t *testing.T) {
	f := open(t)

	for _, a := range f.apis() {
		for operation := range a.service.Operations {
			for _, body := range []string{"null", "[]", "7", `"x"`, "hi", `{"a":}`, `{`, "{} {}", "\xff"} {
				status, answer := f.ask(&a, operation, body)
				if want := map[string]any{"__type": "com.amazon.coral.service#SerializationException"}; status != http.StatusBadRequest || !reflect.DeepEqual(answer, want) {
					t.Errorf("%s %s: %d %v", operation, body, status, answer)
				}
			}
		}
	}
}

// goWords are parts of messages of Go's libraries.
var goWords = []string{"json", "unmarshal", "Go ", "invalid character", "strconv", "illegal base64", "parsing ", "runtime error", "%!", "0x", "EOF", "map["}

// TestBounds sends every member of every operation's request as null, too long and at the bounds of its type.
// The engine answers each in words of the service.
func TestBounds(t *testing.T) {
	if testing.Short() {
		t.Skip("one client, and many sizes")
	}

	f := open(t)
	long := `"` + strings.Repeat("x", 70_000) + `"`

	for _, a := range f.apis() {
		for operation := range a.service.Operations {
			bodies := []string{"{}"}
			for _, s := range a.spots(a.input(operation), nil, nil) {
				values := []string{"null"}
				switch s.kind.Kind() {
				case reflect.String:
					values = append(values, `""`, `"x"`, long, `"\u0000"`)
				case reflect.Int32, reflect.Int64, reflect.Float32, reflect.Float64:
					values = append(values, "-1", "0", "2147483648", "9223372036854775807", "-9223372036854775808", "1e400", "92233720368547758070")
				case reflect.Slice:
					values = append(values, "[]", "["+strings.Repeat("null,", 300)+"null]", `"*"`)
				case reflect.Map:
					values = append(values, "{}", `{"":null}`, "{"+long+":null}")
				}

				for _, v := range values {
					bodies = append(bodies, s.body(v))
				}
			}

			for _, body := range bodies {
				status, answer := f.ask(&a, operation, body)
				text := strings.ReplaceAll(fmt.Sprint(answer["message"], answer["Message"]), "<nil>", "")

				if status >= http.StatusInternalServerError {
					t.Errorf("%s %.200s: %d %v", operation, body, status, answer)
				}

				for _, word := range goWords {
					if strings.Contains(text, word) {
						t.Errorf("%s %.200s: %.300s", operation, body, text)
					}
				}
			}
		}
	}
}
