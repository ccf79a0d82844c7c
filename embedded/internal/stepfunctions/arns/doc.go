// Package arns writes and reads the ARNs of Step Functions, and says which names things may have.
package arns
