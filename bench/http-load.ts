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
  /** The status that every answer must have. */
  status: number;
  /** Each request names another client in X-Forwarded-For, as a proxy in front of many would. */
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
 * Requests per second over keep-alive connections, sent by a process of its own.
 * Throws when a request failed or was answered otherwise than expected: such a figure would mean nothing.
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
