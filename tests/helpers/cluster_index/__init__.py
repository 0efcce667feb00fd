"""A draft of an index over PostgreSQL and Qdrant, to test the port: documents in the one, words and vectors in the
other.

Row numbers are never used again; a row is born and dies with a commit's number. A reader takes the number first, asks
Qdrant, and looks up in PostgreSQL what of that lives at that number: with it comes all that later steps of a query want
to know. So a query waits for four answers, one after the other: the snapshot, the search, the rows, and the scores that
signals fill in for one another.

Left out, for it is a draft: leases and fences (`filling` is the only writer), a grace period before dead rows go, more
than one node, and what happens when one is lost.
"""

from cluster_index.filling import ClusterFilling
from cluster_index.index import Cluster

__all__ = ["Cluster", "ClusterFilling"]
