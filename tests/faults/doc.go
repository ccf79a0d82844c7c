// Package faults holds a table of faults × every public call of the core that writes. See
// TestNoAnswerContradictsTheTables. And it lets time pass over orders that time moves, while what moves them ends at any
// request (later_test.go, year_test.go).
package faults
