"""The pages: HTML over the same services as REST, complete without JavaScript. ``mount.mount_pages`` adds them."""
