// Package teststate reads the requests of TestState and writes their answers.
//
// [Request.Check] refuses what the service refuses: sizes, states that cannot be tested, mocks that do not fit the state
// or the service whose answer they stand for, and context objects with foreign fields. A [Result] then collects what the
// state does, from what package execution shows of it. The state itself is run by package stepfunctions, which makes
// the calls.
//
// Source: https://docs.aws.amazon.com/step-functions/latest/apireference/API_TestState.html
package teststate
