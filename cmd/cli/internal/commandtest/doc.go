// Package commandtest helps tests of commands: a data directory with orders, and the run of one command.
package commandtest
