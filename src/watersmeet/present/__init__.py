"""What should the asker read? `Ranking -> Answer`."""
