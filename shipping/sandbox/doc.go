// Package sandbox is a carrier for demonstrations and tests. [Carrier] implements
// shipping.Carrier.
//
// A booking and its reports are items of a DynamoDB table, so they survive a restart. Some
// time after the booking, Run reports the parcel as shipped, and then as delivered. It
// repeats a report until the shop accepts or rejects it. The parcel leaves when the shop
// accepts the first report; until then the shipment can be canceled, and makes no report
// afterwards.
//
// [Faults] make it a bad carrier: down for a while, slow, with reports that come twice, with
// parcels that are lost or come back.
package sandbox
