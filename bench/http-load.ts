import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { Round } from './interleave.ts';

const autocannon = fileURLToPath(import.meta.resolve('autocannon'));

export interface HttpLoad {
  url: string;
  headers?: Record<string, string>;
  connections: number;
  seconds: number;
  /** The status that every answer must have. */
  status: number;
}

interface Report {
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
export async function requestsPerSecond({ url, headers = {}, connections, seconds, status }: HttpLoad): Promise<Round> {
  const { stdout } = await promisify(execFile)(
    process.execPath,
    [
      autocannon,
      ...['--json', '--no-progress', '-c', String(connections), '-d', String(seconds)],
      ...Object.entries(headers).flatMap(([name, value]) => ['-H', `${name}=${value}`]),
      url,
    ],
    { timeout: (seconds + 20) * 1000, maxBuffer: 16 * 1024 * 1024 },
  );
  const report = JSON.parse(stdout) as Report;
  const answers = Object.entries(report.statusCodeStats);
  const others = answers.filter(([code]) => code !== String(status));
  if (others.length > 0 || report.errors > 0 || report.timeouts > 0) {
    throw new Error(`${url} answered ${JSON.stringify(report.statusCodeStats)} with ${report.errors} errors.`);
  }
  return { value: report.requests.total / report.duration, operations: report.requests.total };
}
