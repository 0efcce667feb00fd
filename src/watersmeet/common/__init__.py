"""What several leaves need and core does not: it meets what others wrote, uses libraries, or asks other machines."""
