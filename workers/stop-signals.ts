/** A process that has not started anything yet ends at once. */
let onSignal: (signal: string) => void = () => process.exit(0);

/** Handles SIGTERM and SIGINT from now on. */
export function onStopSignal(handle: (signal: string) => void): void {
  onSignal = handle;
}

for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => onSignal(signal));
