// Package references has the names and values to which the expressions of a request refer, and reads conditions and
// projections with them, in the words of the service.
package references
