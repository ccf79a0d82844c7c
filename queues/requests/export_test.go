package requests

// What the tests of package requests_test use beside the exported names.

const Source = source
