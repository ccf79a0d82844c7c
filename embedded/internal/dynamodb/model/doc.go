// Package model checks requests against the API model of DynamoDB, in the words of the service.
//
// [Constraints] collects the members that break the model: those that are missing, too long or too small, and those whose
// value is none of a set. The operations add the members in the service's order.
package model
