"""What every part of the package uses: tensors, dtypes, parameters, gradients, random state."""
