// Package sandbox is a bank for demonstrations and tests. [Bank] implements payments.Processor.
//
// The bank's operations are items of a DynamoDB table, so they survive a restart. The bank declines
// the payments of a share of the orders, and loses the first answer of a share of the requests. The
// ids alone decide which, so the result of a run can be computed without running it.
package sandbox
