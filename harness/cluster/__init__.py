"""More than one machine: Ray as the engine (the extra ``ray``).

==================  =========================================================================
``engine``          connects to a cluster, and opens its instruments as the local ones are opened
``graders``         the warm graders of a cluster: where they are, who has room, who was lost
``node_grader``     what runs on a node: jail, oracle and judge, as a local grader holds them
``bank_code``       properties and workloads that a bank brings, as they travel
``sameness``        whether a node has the harness that asks it
==================  =========================================================================

Nothing above knows which engine works: answers go out through ``Instruments.elsewhere``, single
programs through the two instruments. Only plain records of the harness cross, and Ray pickles them: the
nodes of a cluster trust each other. What a candidate made stays in the jail of its node.
"""
