"""Results on screen: what ``charts`` says, drawn live."""
