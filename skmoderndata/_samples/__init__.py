"""What a sample is: containers, sequences, series, trees, documents, and their keys."""
