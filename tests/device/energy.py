"""Energy, clock and name of the device, by NVML."""


class Energy:
    """`read` gives joules, `clock` MHz; both give None where NVML is not to be had, so that all else is measured."""

    def __init__(self):
        try:
            import pynvml
            pynvml.nvmlInit()
            self.device = pynvml.nvmlDeviceGetHandleByIndex(0)
            self.read = lambda: pynvml.nvmlDeviceGetTotalEnergyConsumption(self.device) / 1e3
            self.clock = lambda: pynvml.nvmlDeviceGetClockInfo(self.device, pynvml.NVML_CLOCK_SM)
            self.read()
        except Exception:
            self.read = self.clock = lambda: None

    def power(self, begin_J, elapsed_s):
        """Mean since `begin_J`, in W."""
        return None if begin_J is None else (self.read() - begin_J) / elapsed_s
