import { randomInt } from 'node:crypto';
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

/** Below the ports that systems give to outgoing connections: Linux from 32768 on, others from 49152 on (RFC 6335). */
const chosenFrom = { first: 15_000, count: 17_000 };

/**
 * A TCP port of 127.0.0.1 that is free now. A server that stops and starts again finds it free, too: no outgoing connection
 * gets it meanwhile, as happens to a port that the system chose.
 * @throws Error when a hundred ports at random are all taken
 */
export async function findFreePort(): Promise<number> {
  for (let tried = 0; tried < 100; tried++) {
    const port = chosenFrom.first + randomInt(chosenFrom.count);
    if ((await bindProblem(port)) === undefined) return port;
  }
  throw new Error('No free port was found.');
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
