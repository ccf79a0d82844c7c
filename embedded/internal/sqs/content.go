package sqs

import (
	"crypto/md5" //nolint:gosec // the protocol's digest, no protection
	"encoding/hex"
	"encoding/json"
	"fmt"
	"unicode/utf8"
)

// content is the part of a message that its sender determines. It never changes once stored.
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

const validCharacters = "Valid unicode characters are #x9 | #xA | #xD | #x20 to #xD7FF | #xE000 to #xFFFD | #x10000 to #x10FFFF."

// validText reports whether a text has only characters that a message may have.
// Source: https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_SendMessage.html
func validText(text string) bool {
	for i, r := range text {
		if r < ' ' && r != '\t' && r != '\n' && r != '\r' || r == 0xfffe || r == 0xffff {
			return false
		}

		// U+FFFD itself is valid, but a broken byte decodes to U+FFFD, too.
		if r == utf8.RuneError {
			if _, size := utf8.DecodeRuneInString(text[i:]); size == 1 {
				return false
			}
		}
	}

	return true
}

// messageSize returns the size that counts against a queue's MaximumMessageSize, in
// bytes: the body and the names, types and values of the attributes.
func messageSize(body string, attributes map[string]attribute) int {
	n := len(body)
	for name, a := range attributes {
		n += len(name) + len(a.DataType) + len(a.BinaryValue)
		if a.StringValue != nil {
			n += len(*a.StringValue)
		}
	}

	return n
}

// digest returns the MD5 sum with which senders and receivers check a message.
func digest(text []byte) string {
	sum := md5.Sum(text) //nolint:gosec // see the import
	return hex.EncodeToString(sum[:])
}

func (c *content) encode() ([]byte, error) { return json.Marshal(c) }

func decodeContent(text []byte) (*content, error) {
	c := new(content)
	if err := json.Unmarshal(text, c); err != nil {
		return nil, fmt.Errorf("read a message: %w", err)
	}

	return c, nil
}
