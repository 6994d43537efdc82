"""Who answers an exchange: virtual workers in one process, or processes over torch.distributed."""
