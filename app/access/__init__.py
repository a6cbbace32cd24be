"""Who asks: tokens, signed-in browsers, roles, and which requests are let in at all."""
