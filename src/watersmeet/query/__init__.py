"""Query steps: each is `Plan -> Plan`."""
