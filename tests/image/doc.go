// Package image builds the container image and a release archive, unpacks them and starts what is in them.
//
//	make image-check
//
// Both are built twice: the same commit gives the same bytes.
package image
