"""What a program expects around it and what is not here: packages, data sets, settings, files.

lent         what was lent to the program, in words
missing      something of a package for which nothing can stand in: who uses it needs that package
imports      which packages of a program are absent, and what is imported in their place
settings     values by name, for settings that nobody gives; a file of settings that is not here
files        files that are read and are not here
present      files that are there: they are laid where the program looks for them
documents    what a file holds, where only its use tells: JSON, pickles, archives and groups of arrays
columns      what the source shows of a table that is not here
tables       tables and arrays that are not here, for pandas, numpy and the module csv
pictures     pictures that are not here, in folders
texts        texts that are not here
inert        objects that do nothing
watching     which packages only watch: wandb, tensorboard and the like
trackers     what stands in for them
standins     packages that hand over data, models or arguments, as small as they can be
"""
