// Package stack compares what is deployed in an account with templates of CloudFormation, for everything whose name the
// templates decide. It does not matter what created it: it asks AWS for each resource, and not for a stack.
//
// [Wanted] reads the templates for an account. Parameters that it does not know leave open what they decide: each value
// that a template allows is right, and of others only that there is one. [Read] asks the Cloud Control API for a resource,
// which answers with the properties that CloudFormation has for it, and [Resource.Differences] compares both.
// Properties that the template does not have are not compared, except in policies and event patterns, where each
// permission and each condition counts.
package stack
