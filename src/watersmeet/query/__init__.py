"""What is being asked? Each step is `Plan -> Plan`."""
