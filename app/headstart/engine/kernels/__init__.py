"""Our own matrix products: the C library, and the graph pass that lets OpenVINO run them."""
