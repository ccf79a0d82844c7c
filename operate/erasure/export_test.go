package erasure

// What the tests of package erasure_test use beside the exported names.

const ErasedError = erasedError
