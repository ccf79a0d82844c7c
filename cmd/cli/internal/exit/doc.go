// Package exit has the exit statuses of the commands, and the errors that lead to them.
package exit
