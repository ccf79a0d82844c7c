// Package sandbox is a bank for demonstrations and tests. [Bank] implements
// payments.Gateway and payments.Processor and keeps its charges in a DynamoDB table, so a
// restart forgets none of them. It declines and times out for a chosen share of orders,
// and which orders follows from their ids alone.
package sandbox
