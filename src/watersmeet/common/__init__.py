"""What several leaves need and core may not have: it uses libraries."""
