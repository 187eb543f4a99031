import { createServer } from 'node:net';
import { Runtime } from '@temporalio/worker';
import type { Log } from '../src/platform/log.ts';
import { temporalLogger } from './temporal-logger.ts';

const attempts = 5;

function findFreePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.on('error', reject);
    server.listen({ port: 0, host: '127.0.0.1', exclusive: true }, () => {
      const address = server.address();
      server.close(() => resolve(typeof address === 'object' && address !== null ? address.port : 0));
    });
  });
}

/**
 * Sets the Temporal SDK up for this process. The signals are ours: the API drains before the workers do.
 * @returns the port of 127.0.0.1 where the SDK tells its own metrics, for the process's metrics server to hand on; the
 *   SDK can only tell them on a port of its own, and cannot say which one it took
 */
export async function installTemporalRuntime(log: Log, withMetrics: boolean): Promise<number | undefined> {
  const options = { shutdownSignals: [], logger: temporalLogger(log) };
  if (!withMetrics) {
    Runtime.install(options);
    return undefined;
  }
  for (let attempt = 1; ; attempt++) {
    // Another process may take it in between.
    const port = await findFreePort();
    const bindAddress = `127.0.0.1:${port}`;
    const prometheus = { bindAddress, countersTotalSuffix: true, unitSuffix: true, useSecondsForDurations: true };
    try {
      Runtime.install({ ...options, telemetryOptions: { metrics: { prometheus } } });
      return port;
    } catch (error) {
      if (attempt === attempts) throw error;
    }
  }
}
