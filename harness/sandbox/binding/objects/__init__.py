"""What a program is given for the names that it does not define."""
