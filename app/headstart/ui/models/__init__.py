"""The page of models: installed ones, servers, adding one."""
