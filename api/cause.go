package api

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"ratchet/transitions"
)

// sourceAPI is the source of the transitions that are requested over HTTP.
const sourceAPI = "api"

// newCause is a caller's reason for a transition. The actor comes from the credential.
type newCause struct {
	Code string `json:"code,omitempty" maxLength:"32" pattern:"^[A-Za-z0-9_.-]+$" doc:"For programs." example:"fraud-check"`
	Text string `json:"text,omitempty" maxLength:"1000" pattern:"^[^\\x00-\\x1F\\x7F-\\x9F]*$" doc:"For people, no personal data, no control characters, at most 1,000 bytes. What is stored is cut to 104 bytes, together with the trace."`
}

// cause is why a transition was made, and by whom.
type cause struct {
	Code   string `json:"code,omitempty"`
	Text   string `json:"text,omitempty" personal:"text"`
	Actor  string `json:"actor,omitempty" personal:"actor" doc:"Who asked, such as a key or an execution."`
	Source string `json:"source,omitempty" doc:"What the request came through."`
	Trace  string `json:"trace,omitempty" doc:"The W3C traceparent of the request."`
}

// showCause returns a cause as callers see it, nil for none.
func showCause(c transitions.Cause) *cause {
	if c == (transitions.Cause{}) {
		return nil
	}

	shown := cause(c)

	return &shown
}

// cause returns the cause of a transition that the caller requests. Its trace comes from the
// request's traceparent header; an invalid header is ignored, as W3C Trace Context asks for.
func (c caller) cause(ctx context.Context, given *newCause) transitions.Cause {
	out := transitions.Cause{Actor: actorOf(c.ID), Source: sourceAPI}
	if trace := callOf(ctx).trace; transitions.ValidTrace(trace) {
		out.Trace = trace
	}

	if given != nil {
		out.Code, out.Text = given.Code, given.Text
	}

	return out
}

// actorOf returns the id of a principal as an actor. An id that is too long or has other
// characters is replaced by its digest, after the id's kind.
func actorOf(id string) string {
	if (transitions.Cause{Actor: id}).Validate() == nil {
		return id
	}

	kind, _, _ := strings.Cut(id, ":")
	sum := sha256.Sum256([]byte(id))

	return kind + ":sha256:" + hex.EncodeToString(sum[:16])
}
