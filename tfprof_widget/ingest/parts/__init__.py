"""What readers give before it is joined."""
