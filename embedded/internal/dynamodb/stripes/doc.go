// Package stripes has the locks of items: a writer holds the stripe of its item from the read of the old item until the new
// one is on disk, and a transaction the stripes of all its items. Readers take no lock unless a change is under way.
package stripes
