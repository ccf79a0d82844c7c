// Package faults holds a table of faults × every public call of the core that writes. See
// TestNoAnswerContradictsTheTables.
package faults
