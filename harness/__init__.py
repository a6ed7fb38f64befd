"""Judge a skill for coding agents by executing what the skill makes agents do.

The pipeline, drawn in the README and written as code in ``harness.runner``::

    Scenario --ask--> Transcript --extract--> Candidate --execute--> Recording
       |                  |                        --measure--> Trace --judge--> Verdicts --+
       |                  |                                                                 |
       +-- rubric --------+--assess--> Assessments -----------------------------------------+
                                                                                            |
                                                      report, compare <-- Run <-- Grade <---+
"""

__version__ = "0.1.0"
