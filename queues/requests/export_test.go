package requests

// Names for the tests of package requests_test, beside the exported ones.

const Source = source
