"""BinaryGLMResults and its methods."""
