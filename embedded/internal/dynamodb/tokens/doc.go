// Package tokens has the ClientRequestTokens of transactions: each protects from a second execution for ten minutes, also
// across restarts, because it is stored with the transaction.
package tokens
