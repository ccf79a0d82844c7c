package wire

import (
	"bytes"
	"cmp"
	"path"
	"reflect"
	"strings"
	"unicode"

	"github.com/go-json-experiment/json"
)

// The words of the services about JSON of another shape than the operation's request.
// Source of DynamoDB's: https://github.com/architect/dynalite test/helpers.js (assertType), recorded on the
// service. Source of the others', which have "can not be converted to a" where DynamoDB has "cannot be
// converted to": https://github.com/async-aws/aws/issues/1667 (SQS). The other words of SQS and those of Step
// Functions are not recorded; they follow DynamoDB's. So do a decimal and a number beyond 64 bits in an
// integer, which the recordings leave out.
const (
	structureHere = "Start of structure or map found where not expected"
	fieldType     = "Unexpected field type"
	valueType     = "Unexpected value type in payload"
	notBytes      = "only base-64-encoded strings are convertible to bytes"
	parserToken   = "Unexpected token received from parser"
	// parameterized is for a list as a value of a map and for a map in a list.
	parameterized = "class sun.reflect.generics.reflectiveObjects.ParameterizedTypeImpl cannot be cast to class java.lang.Class " +
		"(sun.reflect.generics.reflectiveObjects.ParameterizedTypeImpl and java.lang.Class are in module java.base of loader 'bootstrap')"
)

// javaPackages has the packages of the classes of shapes, by the last element of the Go package's path.
var javaPackages = map[string]string{
	"dynamodb": "com.amazonaws.dynamodb.v20120810.",
	"streams":  "com.amazonaws.dynamodb.v20120810.",
	"sqs":      "com.amazonaws.sqs.",
}

// shapes has the names of shapes in the API models, by the member that has the shape, or has it in a list or
// a map. Before a dot is the Go type of the request, where requests differ. The shape of any other member
// has the name of its Go type: writeRequest is WriteRequest.
var shapes = map[string]string{
	"AttributeDefinitions":        "AttributeDefinition",
	"AttributeUpdates":            "AttributeValueUpdate",
	"ConditionCheck":              "ConditionCheck",
	"Create":                      "CreateGlobalSecondaryIndexAction",
	"Expected":                    "ExpectedAttributeValue",
	"Get":                         "Get",
	"GlobalSecondaryIndexUpdates": "GlobalSecondaryIndexUpdate",
	"GlobalSecondaryIndexes":      "GlobalSecondaryIndex",
	"KeyConditions":               "Condition",
	"KeySchema":                   "KeySchemaElement",
	"LocalSecondaryIndexes":       "LocalSecondaryIndex",
	"Projection":                  "Projection",
	"ProvisionedThroughput":       "ProvisionedThroughput",
	"Put":                         "Put",
	"QueryFilter":                 "Condition",
	"ScanFilter":                  "Condition",
	"Statements":                  "BatchStatementRequest",
	"Tags":                        "Tag",
	"TimeToLiveSpecification":     "TimeToLiveSpecification",
	"TransactStatements":          "ParameterizedStatement",

	"DeleteRequest":               "DeleteRequest",
	"OnDemandThroughput":          "OnDemandThroughput",
	"PutRequest":                  "PutRequest",
	"SSESpecification":            "SSESpecification",
	"WarmThroughput":              "WarmThroughput",
	"transactGetIn.TransactItems": "TransactGetItem",
	"transactWriteIn.Delete":      "Delete",
	"transactWriteIn.Update":      "Update",
	"updateTableIn.Delete":        "DeleteGlobalSecondaryIndexAction",
	"updateTableIn.Update":        "UpdateGlobalSecondaryIndexAction",

	"encryptionConfiguration": "EncryptionConfiguration",
	"errorOutput":             "MockErrorOutput",
	"mock":                    "MockInput",
	"routingConfiguration":    "RoutingConfigurationListItem",
	"tracingConfiguration":    "TracingConfiguration",
	"stateConfiguration":      "TestStateConfiguration",

	"receiptBatch.Entries":    "DeleteMessageBatchRequestEntry",
	"sendBatch.Entries":       "SendMessageBatchRequestEntry",
	"visibilityBatch.Entries": "ChangeMessageVisibilityBatchRequestEntry",
	"MessageAttributes":       "MessageAttributeValue",
	"MessageSystemAttributes": "MessageSystemAttributeValue",
}

// place is the place in a request at which its JSON has a wrong shape.
type place struct {
	root           reflect.Type
	wanted, parent reflect.Type // without pointers; parent is nil at the top
	member         string       // the last member on the way
	dynamodb       bool
}

// placeOf finds the place of the error in a request of type root.
func placeOf(root reflect.Type, e *json.SemanticError) (place, bool) {
	at := place{root: root, wanted: root, dynamodb: strings.Contains(javaPackages[path.Base(root.PkgPath())], ".dynamodb.")}
	for token := range e.JSONPointer.Tokens() {
		at.parent = at.wanted

		switch at.wanted.Kind() {
		case reflect.Map, reflect.Slice:
			at.wanted = at.wanted.Elem()
		case reflect.Struct:
			field, ok := memberOf(at.wanted, token)
			if !ok {
				return at, false
			}
			at.wanted, at.member = field, token
		default:
			return at, false
		}

		for at.wanted.Kind() == reflect.Pointer {
			at.wanted = at.wanted.Elem()
		}
	}

	return at, true
}

// memberOf returns the type of the struct's member of that name.
func memberOf(t reflect.Type, name string) (reflect.Type, bool) {
	for _, field := range reflect.VisibleFields(t) {
		own, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if own == "" {
			own = field.Name
		}

		if !field.Anonymous && strings.EqualFold(own, name) {
			return field.Type, true
		}
	}

	return nil, false
}

// shapeWords returns the words for the error, empty if the services have none.
func shapeWords(root reflect.Type, body []byte, e *json.SemanticError) string {
	own := e.Err != nil && e.JSONKind == 0

	at, ok := placeOf(root, e)
	if own && !ok {
		return e.Err.Error() // deep inside of a type that reads itself
	}

	if !ok || at.parent == nil {
		return ""
	}

	if own {
		// A type that reads itself has its own words, but it does not know where it stands.
		switch words := e.Err.Error(); {
		case words == fieldType && at.inTypeParameter():
			return parameterized
		case words == valueType && at.wanted.Kind() == reflect.Struct && at.parent.Kind() == reflect.Struct:
			return fieldType
		}

		return e.Err.Error()
	}

	switch e.JSONKind {
	case '[':
		return "Unrecognized collection type " + at.javaName(at.wanted, "class ")
	case '{':
		return structureHere
	}

	switch at.wanted.Kind() {
	case reflect.Struct:
		if at.parent.Kind() == reflect.Struct {
			return fieldType
		}

		return valueType
	case reflect.Map:
		return at.collectionWords()
	case reflect.Slice:
		if at.wanted.Elem().Kind() == reflect.Uint8 {
			return notBytes
		}

		return at.collectionWords()
	case reflect.Bool:
		// The service's parser stops at a text.
		if e.JSONKind == '"' {
			return parserToken
		}
	}

	return tokenName(body, e) + at.conversion() + strings.TrimPrefix(at.javaName(at.wanted, ""), "java.lang.")
}

// inTypeParameter reports whether the place is a list or a map within another one.
func (at *place) inTypeParameter() bool {
	return at.wanted.Kind() == reflect.Map && at.parent.Kind() == reflect.Slice || at.wanted.Kind() == reflect.Slice && at.parent.Kind() == reflect.Map
}

// collectionWords returns the words for a scalar in place of a list or a map.
func (at *place) collectionWords() string {
	if at.inTypeParameter() {
		return parameterized
	}

	return fieldType
}

func (at *place) conversion() string {
	switch {
	case at.dynamodb:
		return " cannot be converted to "
	case at.javaName(at.wanted, "") == "java.lang.Integer":
		return " can not be converted to an "
	default:
		return " can not be converted to a "
	}
}

// tokenName returns the name that the service's parser has for the JSON.
func tokenName(body []byte, e *json.SemanticError) string {
	switch e.JSONKind {
	case '"':
		return "STRING_VALUE"
	case 't':
		return "TRUE_VALUE"
	case 'f':
		return "FALSE_VALUE"
	case 'n':
		return "NULL_VALUE"
	}

	number := bytes.TrimLeft(body[e.ByteOffset:], " \t\r\n:,")
	if end := bytes.IndexAny(number, " \t\r\n,]}"); end >= 0 {
		number = number[:end]
	}

	if bytes.ContainsAny(number, ".eE") {
		return "DECIMAL_VALUE"
	}

	return "NUMBER_VALUE"
}

// javaName returns the name of the type in Java. class begins the name of a class.
func (at *place) javaName(t reflect.Type, class string) string {
	switch t.Kind() {
	case reflect.Pointer:
		return at.javaName(t.Elem(), class)
	case reflect.Map:
		return "java.util.Map<java.lang.String, " + at.javaName(t.Elem(), "") + ">"
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			return class + "java.nio.ByteBuffer"
		}

		return "java.util.List<" + at.javaName(t.Elem(), "") + ">"
	case reflect.Struct:
		return class + at.shapeName(t)
	case reflect.Bool:
		return class + "java.lang.Boolean"
	case reflect.Float32, reflect.Float64:
		return class + "java.lang.Float"
	case reflect.Int, reflect.Int32, reflect.Int64:
		if isLong(at.member) {
			return class + "java.lang.Long"
		}

		return class + "java.lang.Integer"
	default:
		return class + "java.lang.String"
	}
}

// isLong reports whether an integer has 64 bits in the API models: the units of throughput, and the tolerated
// failures of a Map Run.
func isLong(member string) bool {
	return strings.HasSuffix(member, "Units") || strings.HasSuffix(member, "UnitsPerSecond") || member == "toleratedFailureCount"
}

// shapeName returns the name of the shape for which the Go type stands at the place.
func (at *place) shapeName(t reflect.Type) string {
	prefix := javaPackages[path.Base(cmp.Or(at.root.PkgPath(), t.PkgPath()))]
	if path.Base(t.PkgPath()) == "attr" {
		return prefix + "AttributeValue"
	}

	if name := shapes[at.root.Name()+"."+at.member]; name != "" {
		return prefix + name
	}

	if name := shapes[at.member]; name != "" {
		return prefix + name
	}

	letters := []rune(t.Name())
	if len(letters) > 0 {
		letters[0] = unicode.ToUpper(letters[0])
	}

	return prefix + string(letters)
}
