// Package sandbox is a carrier for demonstrations and tests. [Carrier] implements
// shipping.Carrier, keeps bookings and open reports in a DynamoDB table, and reports each
// milestone until the shop has taken the report.
package sandbox
