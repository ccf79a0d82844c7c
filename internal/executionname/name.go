// Package executionname makes names and ARNs of Step Functions executions.
package executionname

import (
	"crypto/sha256"
	"encoding/hex"
	"regexp"
	"strings"
	"sync"
)

// rule allows the length of a name but fewer characters than Step Functions:
// https://docs.aws.amazon.com/step-functions/latest/apireference/API_StartExecution.html
var rule = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9_-]{1,80}$`) })

// IsValid reports whether the text can be the name of an execution.
func IsValid(text string) bool { return rule().MatchString(text) }

// Digest returns 32 characters that stand for a text which is no name.
func Digest(text string) string {
	// 128 bits are enough: two texts with the same digest do not occur by accident.
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:16])
}

// ARN returns the ARN that Step Functions gives to an execution of that name.
func ARN(machineARN, name string) string {
	return strings.Replace(machineARN, ":stateMachine:", ":execution:", 1) + ":" + name
}
