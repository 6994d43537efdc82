"""The kernels in plain torch, one idea a file; `laconic.kernels.reference` lists them all."""
