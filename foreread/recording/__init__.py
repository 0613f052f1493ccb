"""Recording a start: of a command, of a suite, of a boot; and what repeats it."""
