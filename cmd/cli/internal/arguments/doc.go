// Package arguments reads what several groups of commands take as arguments and flags: points in time, limits, items,
// files and causes.
package arguments
