// Package terminal writes to a terminal or a pipe: lines, JSON, times, and how far a long command is. It knows no
// orders.
package terminal
