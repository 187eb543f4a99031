import { connect, createServer } from 'node:net';
import type { LocalSettings } from '../src/platform/env.ts';

/** Ports by the name of their variable. */
export type Ports = Record<'PORT' | 'TEMPORAL_PORT' | 'TEMPORAL_UI_PORT' | 'POSTGRES_PORT', number>;

/**
 * The ports of the servers to start; 0 selects a free port. Servers that are not started need none.
 * Throws an error that names the variable of each port that is in use or set twice.
 */
export async function choosePorts(settings: LocalSettings): Promise<Ports> {
  const { port, temporalPort, temporalUiPort, postgresPort, temporalAddress, databaseUrl } = settings;
  const wanted = {
    PORT: port,
    TEMPORAL_PORT: temporalPort,
    TEMPORAL_UI_PORT: temporalUiPort,
    POSTGRES_PORT: postgresPort,
  };
  const foreign = [
    ...(temporalAddress === undefined ? [] : ['TEMPORAL_PORT', 'TEMPORAL_UI_PORT']),
    ...(databaseUrl === undefined ? [] : ['POSTGRES_PORT']),
  ];
  const chosen: { variable: string; number: number; problem?: string | undefined }[] = [];
  // Sequential, because each check binds its port briefly.
  for (const [variable, wish] of Object.entries(wanted)) {
    const number = wish === 0 ? await findFreePort() : wish;
    const rival = chosen.find((other) => other.number === number && !foreign.includes(other.variable))?.variable;
    const problem = (await portProblem(number)) ?? (rival && `is that of ${rival} too`);
    chosen.push({ variable, number, problem: foreign.includes(variable) ? undefined : problem });
  }
  const problems = chosen
    .filter(({ problem }) => problem !== undefined)
    .map(({ variable, number, problem }) => `${variable} ${number} ${problem}: set ${variable} to another one.`);
  if (problems.length > 0) throw new Error(problems.join('\n'));
  return Object.fromEntries(chosen.map(({ variable, number }) => [variable, number])) as Ports;
}

/** Why a TCP port of 127.0.0.1 cannot be used ("is taken"), or undefined when it can. */
async function portProblem(port: number): Promise<string | undefined> {
  const problem = (await bindProblem(port)) ?? ((await answers(port)) ? 'EADDRINUSE' : undefined);
  if (problem === undefined) return undefined;
  return problem === 'EADDRINUSE' ? 'is taken' : `cannot be used (${problem})`;
}

/** A TCP port of 127.0.0.1 that is free now, chosen by the system. */
export function findFreePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.on('error', reject);
    server.listen({ port: 0, host: '127.0.0.1', exclusive: true }, () => {
      const address = server.address();
      server.close(() => resolve(typeof address === 'object' && address !== null ? address.port : 0));
    });
  });
}

function bindProblem(port: number): Promise<string | undefined> {
  return new Promise((resolve) => {
    const server = createServer();
    server.on('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message));
    server.listen({ port, host: '127.0.0.1', exclusive: true }, () => server.close(() => resolve(undefined)));
  });
}

/** Some systems allow binding to 127.0.0.1 while another process listens on all addresses, so connecting is tried too. */
function answers(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ port, host: '127.0.0.1' });
    const finish = (taken: boolean) => {
      socket.destroy();
      resolve(taken);
    };
    socket.setTimeout(1000, () => finish(false));
    socket.on('connect', () => finish(true));
    socket.on('error', () => finish(false));
  });
}
