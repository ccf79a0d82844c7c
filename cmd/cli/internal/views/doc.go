// Package views prints what commands of several groups show: results of transitions and edits, dead letters, amounts
// and the payment or reservation of an order.
package views
