package sqs

import (
	"crypto/md5" //nolint:gosec // the protocol's digest, no protection
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"ratchet/embedded/internal/wire"
)

// content is what a sender has sent; it is not changed once stored.
type content struct {
	ID         string               `json:"id"`
	Body       string               `json:"body"`
	Attributes map[string]attribute `json:"attributes,omitempty"`
	Trace      string               `json:"trace,omitempty"` // AWSTraceHeader
	Sent       int64                `json:"sent"`            // ms
	Group      string               `json:"group,omitempty"`
	Dedup      string               `json:"dedup,omitempty"`
	// Source is the queue that a dead letter came from.
	Source string `json:"source,omitempty"`
}

// attribute is a message attribute in the form of the wire.
type attribute struct {
	DataType    string  `json:"DataType"`
	StringValue *string `json:"StringValue,omitempty"`
	BinaryValue []byte  `json:"BinaryValue,omitempty"`
	// Lists are reserved by the service, and refused.
	StringListValues []string `json:"StringListValues,omitempty"`
	BinaryListValues [][]byte `json:"BinaryListValues,omitempty"`
}

// Rules of names and types: developer guide, "Amazon SQS message metadata".
var (
	attributeNameRule = regexp.MustCompile(`^[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*$`)
	dataTypeRule      = regexp.MustCompile(`^(String|Number|Binary)(\..+)?$`)
)

const maxAttributes = 10

func checkMessageAttributes(attributes map[string]attribute) error {
	if len(attributes) > maxAttributes {
		return invalidParameter("MessageAttributes", fmt.Sprint(len(attributes)), "Number of message attributes exceeds the allowed maximum [10].")
	}

	for _, name := range slices.Sorted(maps.Keys(attributes)) {
		a := attributes[name]
		lower := strings.ToLower(name)
		switch {
		case len(name) > 256 || !attributeNameRule.MatchString(name) || strings.HasPrefix(lower, "aws.") || strings.HasPrefix(lower, "amazon."):
			return invalidParameter("MessageAttributeName", name, "Message attribute names have up to 256 of A-Z a-z 0-9 _ - . and do not begin with AWS. or Amazon.")
		case len(a.DataType) > 256 || !dataTypeRule.MatchString(a.DataType):
			return invalidParameter("MessageAttributeType", a.DataType, "The type of message attribute '"+name+"' is invalid. You must use only the following supported type prefixes: Binary, Number, String.")
		case a.StringListValues != nil || a.BinaryListValues != nil:
			return unsupported("a list in message attribute '" + name + "'")
		}

		binary := strings.HasPrefix(a.DataType, "Binary")
		if binary && (len(a.BinaryValue) == 0 || a.StringValue != nil) || !binary && (a.StringValue == nil || *a.StringValue == "" || a.BinaryValue != nil) {
			return invalidParameter("MessageAttributeValue", name, "The message attribute must contain a non-empty value of its type.")
		}

		if !binary && !allowed(*a.StringValue) {
			return wire.Errorf("InvalidMessageContents", "The message attribute '%s' has characters outside the allowed set.", name)
		}
	}

	return nil
}

// allowed reports whether the text has only characters that a message may have: API
// reference of SendMessage.
func allowed(text string) bool {
	for i, r := range text {
		if r < ' ' && r != '\t' && r != '\n' && r != '\r' || r == 0xfffe || r == 0xffff {
			return false
		}

		if r == utf8.RuneError {
			if _, size := utf8.DecodeRuneInString(text[i:]); size == 1 {
				return false
			}
		}
	}

	return true
}

// size is what counts against a queue's limit.
func size(body string, attributes map[string]attribute) int {
	n := len(body)
	for name, a := range attributes {
		n += len(name) + len(a.DataType) + len(a.BinaryValue)
		if a.StringValue != nil {
			n += len(*a.StringValue)
		}
	}

	return n
}

func digest(text []byte) string {
	sum := md5.Sum(text) //nolint:gosec // see the import
	return hex.EncodeToString(sum[:])
}

// attributesDigest is the digest of message attributes; empty when there are none.
// Rule: developer guide, "Calculating the MD5 message digest for message attributes".
func attributesDigest(attributes map[string]attribute) string {
	if len(attributes) == 0 {
		return ""
	}

	var b []byte
	part := func(p []byte) {
		b = binary.BigEndian.AppendUint32(b, uint32(len(p)))
		b = append(b, p...)
	}
	for _, name := range slices.Sorted(maps.Keys(attributes)) {
		a := attributes[name]
		part([]byte(name))
		part([]byte(a.DataType))

		if strings.HasPrefix(a.DataType, "Binary") {
			b = append(b, 2)
			part(a.BinaryValue)
		} else {
			b = append(b, 1)
			part([]byte(*a.StringValue))
		}
	}

	return digest(b)
}

func (c *content) encode() ([]byte, error) { return json.Marshal(c) }

func decodeContent(text []byte) (*content, error) {
	c := new(content)
	if err := json.Unmarshal(text, c); err != nil {
		return nil, fmt.Errorf("read a message: %w", err)
	}

	return c, nil
}
