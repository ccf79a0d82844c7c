// Package sandbox is a carrier for demonstrations and tests. [Carrier] implements
// shipping.Carrier.
//
// A booking and its reports are items of a DynamoDB table, so they survive a restart. Some
// time after the booking, Run reports the parcel as shipped, and later as delivered. It
// repeats a report until the shop accepts or rejects it. The parcel leaves when the shop
// accepts the first report. Until then the shipment can be canceled; a canceled shipment makes no
// further report.
//
// [Faults] let the carrier be down for a while, be slow, send reports twice, lose parcels, or bring
// them back.
package sandbox
