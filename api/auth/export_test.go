package auth

// NewOIDCWith is NewOIDC with a client of the test.
var NewOIDCWith = newOIDC
