package keys

// What the tests of package keys_test use beside the exported names.

const MaxHeader = maxHeader
