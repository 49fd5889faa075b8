"""What volumes are made of. `arrayloom.volumes` is their public face."""
