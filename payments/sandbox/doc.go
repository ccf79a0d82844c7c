// Package sandbox is a bank for demonstrations and tests. [Bank] implements payments.Processor.
//
// What it has done are items of a DynamoDB table, so they survive a restart. It declines the
// payments of a share of the orders, and loses the first answer of a share of the
// requests. Which ones follows from the ids alone, so the result of a run can be computed
// without running it.
package sandbox
