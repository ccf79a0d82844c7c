// Package sandbox is a carrier for demonstrations and tests. [Carrier] implements
// shipping.Carrier.
//
// A booking and its reports are items of a DynamoDB table, so they survive a restart. Some
// time after the booking, Run reports the parcel as shipped, and then as delivered. It
// repeats a report until the shop accepts or rejects it.
package sandbox
