// Package pages has what a Query, a Scan and a SELECT share once their requests are read: a page collects the items between
// two keys of the store, up to a megabyte or a Limit, filters and projects them, and becomes the answer.
package pages
