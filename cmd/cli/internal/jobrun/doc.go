// Package jobrun runs a job for a command: it stores the job, lets a worker run it or runs it in the command where
// there is none, shows the progress and prints the result.
package jobrun
