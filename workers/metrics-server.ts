import { once } from 'node:events';
import { createServer, get, type Server } from 'node:http';
import type { PlatformEnv } from '../src/platform/env.ts';
import type { Log } from '../src/platform/observability/log.ts';
import type { Metrics } from '../src/platform/observability/metrics.ts';
import type { RunningRole } from './running-role.ts';

const contentType = 'text/plain; version=0.0.4; charset=utf-8';
const patienceMs = 1_000;

/** The metrics of the Temporal SDK; empty when it does not answer. */
function readTemporalMetrics(port: number, log: Log): Promise<string> {
  return new Promise((resolve) => {
    const omit = (error: Error) => {
      log.warn({ err: error }, "Temporal's metrics could not be read");
      resolve('');
    };
    const request = get({ host: '127.0.0.1', port, path: '/metrics', timeout: patienceMs }, async (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('error', omit);
      response.on('end', () => resolve(Buffer.concat(chunks).toString('utf8')));
    });
    request.on('error', omit);
    request.on('timeout', () => request.destroy(new Error(`No answer in ${patienceMs} ms.`)));
  });
}

async function listen(server: Server, port: number, host: string): Promise<void> {
  server.listen(port, host);
  await once(server, 'listening');
}

interface MetricsServerOptions {
  env: PlatformEnv;
  log: Log;
  metrics: Metrics;
  /** Port of 127.0.0.1 where the Temporal SDK of this process serves its own metrics. */
  temporalPort?: number | undefined;
}

/**
 * Serves GET /metrics to every client that reaches METRICS_HOST, without a key: it is for the operator's network alone.
 * Several processes on one machine each need a port; a process whose port is in use serves on a free one and logs it.
 */
export async function startMetricsServer(options: MetricsServerOptions): Promise<RunningRole | undefined> {
  const { env, log, metrics, temporalPort } = options;
  if (env.METRICS_PORT === 'off') return undefined;
  metrics.watchProcess();
  const text = async () => {
    const [own, temporal] = await Promise.all([
      metrics.text(),
      temporalPort === undefined ? '' : readTemporalMetrics(temporalPort, log),
    ]);
    return own + temporal;
  };
  const server = createServer(async (request, response) => {
    if (request.url !== '/metrics' || request.method !== 'GET') {
      response.writeHead(404).end();
      return;
    }
    try {
      const body = await text();
      response.writeHead(200, { 'content-type': contentType }).end(body);
    } catch (error) {
      log.error({ err: error }, 'metrics could not be collected');
      response.writeHead(500).end();
    }
  });
  try {
    await listen(server, env.METRICS_PORT, env.METRICS_HOST);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE') throw error;
    await listen(server, 0, env.METRICS_HOST);
    log.warn({ wanted: env.METRICS_PORT }, 'the port for metrics is in use');
  }
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  log.info({ metrics: `http://${env.METRICS_HOST}:${port}/metrics` }, 'metrics');
  return {
    async stop() {
      server.closeAllConnections();
      server.close();
    },
  };
}
