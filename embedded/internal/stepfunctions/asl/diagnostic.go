package asl

import (
	"fmt"
	"strings"
)

// Codes of diagnostics, as ValidateStateMachineDefinition names them.
// Source: https://docs.aws.amazon.com/step-functions/latest/apireference/API_ValidateStateMachineDefinitionDiagnostic.html
const (
	codeJSON       = "INVALID_JSON_DESCRIPTION"
	codeMissing    = "MISSING_DESCRIPTION"
	codeSchema     = "SCHEMA_VALIDATION_FAILED"
	CodeResource   = "INVALID_RESOURCE"
	codeNoEnd      = "MISSING_END_STATE"
	codeDuplicate  = "DUPLICATE_STATE_NAME"
	codeStateName  = "INVALID_STATE_NAME"
	codeTransition = "MISSING_TRANSITION_TARGET"
	codeDepth      = "TOO_DEEPLY_NESTED"
	codeNoDollar   = "NO_DOLLAR"
	codeStatic     = "PASS_RESULT_IS_STATIC"
)

// Diagnostic is one fault or warning of Parse.
type Diagnostic struct {
	// Warning is false for a fault: the definition cannot be used.
	Warning                 bool
	Code, Message, Location string
}

// Diagnostics are the faults and warnings of Parse, in the order of the definition.
type Diagnostics []Diagnostic

// Err returns an error that lists the faults, nil if there are only warnings.
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
