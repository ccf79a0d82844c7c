package asl

import (
	"fmt"
	"strings"
)

// Codes of diagnostics, as ValidateStateMachineDefinition names them.
const (
	CodeJSON       = "INVALID_JSON_DESCRIPTION"
	CodeMissing    = "MISSING_DESCRIPTION"
	CodeSchema     = "SCHEMA_VALIDATION_FAILED"
	CodeResource   = "INVALID_RESOURCE"
	CodeNoEnd      = "MISSING_END_STATE"
	CodeDuplicate  = "DUPLICATE_STATE_NAME"
	CodeStateName  = "INVALID_STATE_NAME"
	CodeTransition = "MISSING_TRANSITION_TARGET"
	CodeDepth      = "TOO_DEEPLY_NESTED"
	CodeNoDollar   = "NO_DOLLAR"
	CodeStatic     = "PASS_RESULT_IS_STATIC"
)

// Diagnostic is one thing that Parse found.
type Diagnostic struct {
	// Warning is false for what makes the definition unusable.
	Warning                 bool
	Code, Message, Location string
}

// Diagnostics are what Parse found, in the order of the definition.
type Diagnostics []Diagnostic

// Err returns an error listing the faults, or nil when there are only warnings.
func (d Diagnostics) Err() error {
	var faults []string
	for _, each := range d {
		if each.Warning {
			continue
		}

		text := each.Code + ": " + each.Message
		if each.Location != "" {
			text += " at " + each.Location
		}
		faults = append(faults, text)
	}

	if len(faults) == 0 {
		return nil
	}

	return fmt.Errorf("Invalid State Machine Definition: '%s'", strings.Join(faults, ", ")) //nolint:staticcheck // AWS's own words
}
