import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { Round } from './interleave.ts';

const program = fileURLToPath(new URL('programs/http-load.ts', import.meta.url));

export interface HttpLoad {
  url: string;
  headers?: Record<string, string>;
  connections: number;
  seconds: number;
  /** The expected status of every response. */
  status: number;
  /** Sends a different client address in X-Forwarded-For with each request, like a proxy. */
  fromManyAddresses?: boolean;
}

export interface LoadReport {
  requests: { total: number };
  duration: number;
  errors: number;
  timeouts: number;
  statusCodeStats: Record<string, { count: number }>;
}

/**
 * Measures requests per second over keep-alive connections, sent by a separate process.
 * Throws when a request failed or had an unexpected status, because the result would be meaningless.
 */
export async function requestsPerSecond(load: HttpLoad): Promise<Round> {
  const { stdout } = await promisify(execFile)(process.execPath, [program, JSON.stringify(load)], {
    timeout: (load.seconds + 20) * 1000,
    maxBuffer: 16 * 1024 * 1024,
  });
  const report = JSON.parse(stdout) as LoadReport;
  const answers = Object.entries(report.statusCodeStats);
  const others = answers.filter(([code]) => code !== String(load.status));
  if (others.length > 0 || report.errors > 0 || report.timeouts > 0) {
    throw new Error(`${load.url} answered ${JSON.stringify(report.statusCodeStats)} with ${report.errors} errors.`);
  }
  return { value: report.requests.total / report.duration, operations: report.requests.total };
}
