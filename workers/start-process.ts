import { flushCompileCache } from 'node:module';
import { NativeConnection } from '@temporalio/worker';
import packageJson from '../package.json' with { type: 'json' };
import { EnvError, secretsOf } from '../src/platform/env.ts';
import { followClock } from '../src/platform/follow-clock.ts';
import { openLog } from '../src/platform/observability/log.ts';
import { openTracing } from '../src/platform/observability/open-tracing.ts';
import type { Tracing } from '../src/platform/observability/telemetry.ts';
import { armFailPoint, holdFailPoint } from '../src/platform/parts/fail-points.ts';
import { enableHolds, holdsChannel, releaseHold } from '../src/platform/parts/holds.ts';
import { failPoints, openServices, readEnv } from '../src/services.ts';
import { temporalEndpoint } from '../src/temporal/endpoint.ts';
import { startMetricsServer } from './metrics-server.ts';
import { isRoleName, roleNames, startRoles } from './roles.ts';
import { onStopSignal } from './stop-signals.ts';
import { installTemporalRuntime } from './temporal-runtime.ts';

/** Longer than a worker's own limit for shutting down. After it the process is considered hung and exits. */
const drainLimitMs = 40_000;

const names = process.argv.slice(2);
if (names.length === 0 || !names.every(isRoleName)) {
  console.error(`Usage: node workers/main.ts ROLE...   with roles of: ${roleNames.join(', ')}`);
  process.exit(2);
}

function refuseEnvironment({ message }: EnvError): never {
  console.error(message);
  process.exit(2);
}

function environment() {
  try {
    return readEnv();
  } catch (error) {
    if (error instanceof EnvError) refuseEnvironment(error);
    throw error;
  }
}

const env = environment();
const secrets = secretsOf(env);
let tracing: Tracing | undefined;
const traced = env.OTEL_EXPORTER_OTLP_ENDPOINT !== undefined;
const log = openLog(env.LOG_LEVEL, names.join('+'), {
  secrets,
  ...(traced && { lineFields: () => tracing?.current() ?? {} }),
});
tracing = await openTracing(env, { process: names.join('+'), version: packageJson.version, secrets, log });
armFailPoint(env.FAIL_POINT, failPoints);

// A request or a task failed where nothing awaits it. That is a mistake, and no reason to end the work of everybody else.
process.on('unhandledRejection', (error) => log.error({ err: error }, 'a failure was not handled'));

const temporalPort = await installTemporalRuntime(log, env.METRICS_PORT !== 'off');

const stopping = new AbortController();
/** What a stop closes: everything that has started, the newest first. */
const started: (() => unknown)[] = [async () => tracing?.close()];

/** Also stops a start that is under way. */
async function stop(reason: string, exitCode: number): Promise<void> {
  if (stopping.signal.aborted) return;
  stopping.abort();
  log.info({ reason }, 'draining');
  setTimeout(
    () => {
      log.error('draining took too long');
      process.exit(1);
    },
    drainLimitMs + env.DRAIN_NOTICE_SECONDS * 1000,
  ).unref();
  try {
    for (const close of started.reverse()) await close();
  } catch (error) {
    log.fatal({ err: error }, 'draining failed');
    process.exit(1);
  }
  log.info('stopped');
  process.exit(exitCode);
}

onStopSignal((signal) => stop(signal, 0));
// With a parent that supervises this process: after the parent's end, nothing else would stop it.
const parentGone = () => stop('the parent is gone', 0);
process.on('disconnect', parentGone);
if (process.connected === false) parentGone();

/**
 * Exits when a start fails: one line on standard error says why, and the log has the stack. If the process stops meanwhile,
 * this never returns, because the stop ends the process.
 */
async function orEnd<Started>(what: string, start: () => Promise<Started>): Promise<Started> {
  try {
    stopping.signal.throwIfAborted();
    const result = await start();
    stopping.signal.throwIfAborted();
    return result;
  } catch (error) {
    if (stopping.signal.aborted) return new Promise(() => {});
    if (error instanceof EnvError) refuseEnvironment(error);
    log.fatal({ err: error }, what);
    console.error(`${what}: ${error instanceof Error ? error.message : String(error)}`);
    process.exit(1);
  }
}

const connection = await orEnd(`Temporal does not answer at ${env.TEMPORAL_ADDRESS}`, () =>
  // A file of TEMPORAL_TLS that cannot be read is an error of the environment.
  NativeConnection.connect(temporalEndpoint(env)),
);
started.push(() => connection.close());
const services = await orEnd('The environment cannot be used', () =>
  openServices(env, log, { connection, tracing, installationGauges: names.includes('housekeeping') }),
);
started.push(() => services.close());
await orEnd('The database cannot be used', () => services.start());
if (env.NODE_ENV === 'test') {
  enableHolds();
  await services.notifications.on(holdsChannel, releaseHold);
  await orEnd('The clock of the database cannot be read', () => followClock(services.database, services.notifications));
}
// Before the roles: if it cannot start, no worker has begun anything.
const metricsServer = await orEnd('The metrics cannot be served', () =>
  startMetricsServer({ env, log, metrics: services.metrics, temporalPort }),
);
if (metricsServer) started.push(() => metricsServer.stop());
const roles = await orEnd(`The roles ${names.join(' and ')} cannot start`, () => {
  const starting = startRoles(names, services, connection, stopping.signal);
  // If they cannot start, or are stopped before they have, they drain what has.
  started.push(() =>
    starting.then(
      ({ stop }) => stop(),
      () => {},
    ),
  );
  return starting;
});
roles.failed.then(
  () => stop('a worker ended', 1),
  (error) => {
    log.fatal({ err: error }, 'a worker failed');
    return stop('a worker failed', 1);
  },
);

/** A parent that has ended is noticed by `disconnect`. Without a callback, its absence would be an uncaught error. */
function report(message: { type: string; api?: string }): void {
  process.send?.(message, undefined, undefined, () => {});
}

// A crash test arms a process that has served others, instead of starting one for each death. As the variable, this is
// refused in production. Each message releases the fail point that the one before held.
if (env.NODE_ENV !== 'production') {
  let release = () => {};
  process.on('message', ({ failPoint, holds }: { failPoint?: string; holds?: boolean }) => {
    release();
    release = () => {};
    if (failPoint !== undefined && holds) {
      release = holdFailPoint(failPoint, failPoints, () => report({ type: 'reached' }));
    } else armFailPoint(failPoint, failPoints);
    report({ type: 'armed' });
  });
}

const api = roles.apiPort === undefined ? undefined : `http://${env.HOST}:${roles.apiPort}`;
log.info({ roles: names, ...(api && { api }) }, 'ready');
report({ type: 'ready', ...(api && { api }) });
// Keeps the code that this start compiled for the next one, also if this process is killed.
flushCompileCache();
