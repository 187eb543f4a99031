import { Connection } from '@temporalio/client';
import { startApiServer } from '../api/server.ts';
import { secretsOf } from '../src/platform/env.ts';
import { followClock } from '../src/platform/follow-clock.ts';
import { openLog } from '../src/platform/observability/log.ts';
import { openServices, readEnv } from '../src/services.ts';
import { temporalEndpoint } from '../src/temporal/endpoint.ts';
import { type LogLine, type ProcessOptions, processEnvironment, readLine } from './product-process.ts';
import { runningServers } from './servers.ts';

/** The API of a product in this process. It has its own services, connections and settings, as one in a process of its own. */
export interface OwnApi {
  /** Base URL. */
  api: string;
  /** Everything it logged so far. */
  log: LogLine[];
  /** Drains, as at SIGTERM. */
  stop(): Promise<void>;
}

/** Starts in a tenth of the processor time that a process takes: its code is loaded already. */
export async function startOwnApi(options: ProcessOptions): Promise<OwnApi> {
  // They are applied to a whole process, in which other test files run later.
  if (options.env?.PLAN_LIMITS) throw new Error('PLAN_LIMITS needs a process of its own.');
  const env = readEnv(processEnvironment(options, runningServers()));
  const log: LogLine[] = [];
  const destination = { write: (line: string) => void log.push(readLine(line)) };
  const connection = Connection.lazy(temporalEndpoint(env));
  const services = await openServices(env, openLog(env.LOG_LEVEL, 'api', { secrets: secretsOf(env), destination }), {
    connection,
  });
  await services.start();
  await followClock(services.database, services.notifications);
  const server = await startApiServer(services);
  const close = async () => {
    await server.stop();
    await services.close();
    await connection.close();
  };
  let closed: Promise<void> | undefined;
  return {
    api: `http://${env.HOST}:${server.port}`,
    log,
    stop: () => (closed ??= close()),
  };
}
