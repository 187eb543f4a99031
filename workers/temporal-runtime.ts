import { createServer } from 'node:net';
import { Runtime } from '@temporalio/worker';
import type { Log } from '../src/platform/observability/log.ts';
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
 * Otherwise the native part of the SDK would write to standard output by itself, in lines that are not JSON. The SDK looks
 * for its lines ten times a second, which takes less than a hundredth of a processor.
 */
const logging = { filter: { core: 'WARN', other: 'ERROR' }, forward: {} } as const;

/**
 * Installs the Temporal SDK's runtime. Signals are handled by the process, because the API drains before the workers.
 * @returns the port of 127.0.0.1 where the SDK serves its metrics, which the process's metrics server includes. The SDK needs
 *   a port of its own and cannot report one that it chose itself
 */
export async function installTemporalRuntime(log: Log, withMetrics: boolean): Promise<number | undefined> {
  const options = { shutdownSignals: [], logger: temporalLogger(log) };
  if (!withMetrics) {
    Runtime.install({ ...options, telemetryOptions: { logging } });
    return undefined;
  }
  for (let attempt = 1; ; attempt++) {
    // Another process may take it before the SDK does.
    const port = await findFreePort();
    const bindAddress = `127.0.0.1:${port}`;
    const prometheus = { bindAddress, countersTotalSuffix: true, unitSuffix: true, useSecondsForDurations: true };
    try {
      Runtime.install({ ...options, telemetryOptions: { logging, metrics: { prometheus } } });
      return port;
    } catch (error) {
      if (attempt === attempts) throw error;
    }
  }
}
