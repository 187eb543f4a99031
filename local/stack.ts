import { rmSync } from 'node:fs';
import { UnknownSchema } from '../src/platform/database/unknown-schema.ts';
import type { LocalSettings, Variables } from '../src/platform/env.ts';
import { temporalEndpoint } from '../src/temporal/endpoint.ts';
import { type RunningApp, startApp } from './app-process.ts';
import type { Credentials } from './credentials.ts';
import { type DataFolder, openDataFolder, rotateLogs } from './data-folder.ts';
import { holdDataFolder, type Part } from './holding.ts';
import { fileSize, lastLines } from './log-file.ts';
import { choosePorts, type Ports } from './ports.ts';
import { startPostgres } from './postgres/postgres.ts';
import { writePrivateJson } from './private-file.ts';
import { keepSecrets, type Secrets } from './secrets.ts';
import { settleAll } from './settle-all.ts';
import { createShutdown, type Shutdown } from './shutdown.ts';
import { NoTemporalServer, prepareNamespaceAt } from './temporal/temporal-namespace.ts';
import { findTemporalProgram } from './temporal/temporal-program.ts';
import { startTemporal } from './temporal/temporal-server.ts';
import { requireUsableFiles, unusableData } from './usable-data.ts';

/** The product that the stack runs on its servers. */
export interface Product {
  roles: readonly string[];
  /** The entry point; `workers/main.ts` by default. */
  entryPoint?: string;
  /** Builds the workflow bundle in the folder, if it does not exist yet. */
  prepareBundle(folder: string): Promise<unknown>;
  /** Builds the console's pages, if the existing ones were built from other sources. */
  buildConsole(): Promise<void>;
  /**
   * Migrates the database, makes the login of the application, and returns the credentials of the organization Demo, stored
   * in `credentialsFile`, with a link for its owner.
   */
  prepareDatabase(logins: DatabaseLogins, credentialsFile: string): Promise<PreparedDatabase>;
}

export interface PreparedDatabase {
  credentials: Credentials;
  /** Where the owner of the organization Demo signs in, once; undefined after that. */
  signInPath: string | undefined;
  /** The address of that owner, who operates the installation. */
  ownerEmail: string;
}

/** Two logins at one database. */
export interface DatabaseLogins {
  /** Owns the tables: for migrations alone. */
  ownerUrl: string;
  /** The application's. */
  url: string;
}

interface StackOptions {
  settings: LocalSettings;
  product: Product;
  /** Receives progress messages. */
  log: (line: string) => void;
  /** Aborts the start. Parts that already run are stopped before `startStack` throws. */
  signal: AbortSignal;
}

export interface Stack extends Credentials {
  /** Base URL. */
  api: string;
  /** host:port */
  temporal: string;
  /** Signs the owner of the organization Demo in, once; absent after that. */
  signInLink?: string;
  /** Base URL of Temporal's web UI; absent for an external Temporal server. */
  temporalUi?: string;
  /** Resolves when a part ends unexpectedly, with its name and last log lines. */
  broken: Promise<string>;
  /** Drains and stops all parts in order. `hasty`, also in a second call, shortens the delays. */
  stop(options?: { hasty?: boolean }): Promise<void>;
}

/**
 * The content of `connection.json`: the data for the CLI, and for a process started by hand, to work with the running
 * stack.
 */
export interface Connection {
  pid: number;
  environment: Record<string, string>;
}

/** The state of a start. */
interface Start extends StackOptions {
  folder: DataFolder;
  secrets: Secrets;
  ports: Ports;
  shutdown: Shutdown;
  record: (part: Part, pid: number) => void;
}

/**
 * Starts PostgreSQL, Temporal and the product, with all state in the data folder.
 * If a part fails to start, stops the others and throws an error with the part and the reason.
 */
export async function startStack(options: StackOptions): Promise<Stack> {
  const { settings, log, signal } = options;
  const folder = openDataFolder(settings.dataFolder);
  const hold = await holdDataFolder(folder, { log, signal });
  const shutdown = createShutdown(log);
  let stopped: Promise<void> | undefined;
  const stop: Stack['stop'] = (how) => {
    if (stopped === undefined) hold.setDraining();
    const done = shutdown.run(how);
    stopped ??= done.then(() => {
      rmSync(folder.connection, { force: true });
      hold.release();
    });
    return stopped;
  };
  try {
    if (settings.databaseUrl === undefined) requireUsableFiles(folder);
    rotateLogs(folder);
    const secrets = keepSecrets(folder.secrets);
    const ports = await choosePorts(settings);
    log(`Starting Atelier and its servers; state and logs are in ${folder.path}`);
    return { ...(await bringUp({ ...options, folder, secrets, ports, shutdown, record: hold.record })), stop };
  } catch (error) {
    await stop({ hasty: signal.aborted });
    throw error;
  }
}

async function bringUp(start: Start): Promise<Omit<Stack, 'stop'>> {
  const { product, folder, shutdown } = start;
  const { postgres, temporal: temporalLog, app: appLog } = folder.logs;
  const logStarts = { postgres: fileSize(postgres), temporal: fileSize(temporalLog), app: fileSize(appLog) };
  const ends: Promise<string>[] = [];
  const watch: Watch = (part, running) => {
    const logFile = folder.logs[part];
    const lines = () => lastLines(logFile, 15, logStarts[part]).join('\n');
    ends.push(running.ended.then(() => `${part} ended unexpectedly (log: ${logFile}):\n${lines()}`));
  };

  const [database, temporal] = await settleAll(start.signal, (signal) => [
    startDatabase({ ...start, signal }, watch),
    startWorkflowServer({ ...start, signal }, watch),
    product.prepareBundle(folder.bundles),
    product.buildConsole(),
  ]);
  const environment = environmentOf(start, database.url, temporal.address);
  const ofCommands = { ...environment, MIGRATION_DATABASE_URL: database.ownerUrl };
  writePrivateJson(folder.connection, { pid: process.pid, environment: ofCommands } satisfies Connection);
  // The app would keep waiting for a server that has ended, so its start is aborted.
  const lost = new AbortController();
  void Promise.race(ends).then((what) => lost.abort(new Error(what)));
  const app: RunningApp = await startApp({
    roles: product.roles,
    env: {
      ...start.settings.parentEnvironment,
      ...environment,
      MIGRATION_DATABASE_URL: '',
      PORT: String(start.ports.PORT),
      WORKFLOW_BUNDLE_DIR: folder.bundles,
      MAIL_FOLDER: start.settings.parentEnvironment.MAIL_FOLDER || folder.mail,
      NODE_COMPILE_CACHE: folder.compileCache,
      ...operatorSettings(start.settings.parentEnvironment, database.ownerEmail, temporal.uiUrl),
    },
    logFile: folder.logs.app,
    onSpawn: (pid) => start.record('app', pid),
    signal: AbortSignal.any([start.signal, lost.signal]),
    ...(product.entryPoint !== undefined && { entryPoint: product.entryPoint }),
  }).catch((error: unknown) => {
    throw lost.signal.aborted ? lost.signal.reason : error;
  });
  shutdown.add('app', app);
  watch('app', app);
  return {
    ...database.credentials,
    ...(database.signInPath !== undefined && { signInLink: `${environment.PUBLIC_URL}${database.signInPath}` }),
    api: app.api,
    temporal: temporal.address,
    ...(temporal.uiUrl !== undefined && { temporalUi: temporal.uiUrl }),
    broken: Promise.race(ends),
  };
}

type Watch = (part: Part, running: { ended: Promise<void> }) => void;

async function startDatabase(
  { settings, product, folder, secrets, ports, shutdown, record, log }: Start,
  watch: Watch,
) {
  const foreign = settings.databaseUrl;
  if (foreign !== undefined) {
    const logins = { ownerUrl: settings.migrationUrl ?? foreign, url: foreign };
    const prepared = await product.prepareDatabase(logins, folder.credentials).catch((error: unknown) => {
      throw new Error(`DATABASE_URL: the database cannot be prepared (${reasonOf(error)})`, { cause: error });
    });
    return { ...logins, ...prepared };
  }
  const postgres = await startPostgres({
    dataDirectory: folder.postgres,
    port: ports.POSTGRES_PORT,
    password: secrets.POSTGRES_PASSWORD,
    logFile: folder.logs.postgres,
    log,
  });
  shutdown.add('postgres', postgres);
  record('postgres', postgres.pid);
  watch('postgres', postgres);
  const logins = {
    ownerUrl: postgres.url('atelier'),
    url: postgres.applicationUrl('atelier', secrets.APP_DATABASE_PASSWORD),
  };
  const prepared = await product.prepareDatabase(logins, folder.credentials).catch((error: unknown) => {
    throw error instanceof UnknownSchema ? unusableData(folder.path, error.reason) : error;
  });
  return { ...logins, ...prepared };
}

/** A failed connection to a host with several addresses is an AggregateError without a message of its own. */
function reasonOf(error: unknown): string {
  if (error instanceof AggregateError) return error.errors.map(reasonOf).join('; ');
  return error instanceof Error ? error.message : String(error);
}

async function startWorkflowServer({ settings, folder, ports, shutdown, record, log, signal }: Start, watch: Watch) {
  const namespace = settings.parentEnvironment.TEMPORAL_NAMESPACE || 'default';
  const address = settings.temporalAddress;
  if (address !== undefined) {
    // A managed server can refuse this. Then its operator must have prepared the namespace, or the app reports the
    // missing parts.
    const { TEMPORAL_TLS, TEMPORAL_API_KEY } = settings.parentEnvironment;
    const endpoint = temporalEndpoint({ TEMPORAL_ADDRESS: address, TEMPORAL_TLS, TEMPORAL_API_KEY });
    await prepareNamespaceAt(endpoint, namespace).catch((error: Error) => {
      if (error instanceof NoTemporalServer) throw new Error(`TEMPORAL_ADDRESS: ${error.message}`, { cause: error });
      log(`Temporal at ${address}: namespace ${namespace} could not be prepared (${error.message})`);
    });
    return { address, uiUrl: undefined };
  }
  const program = await findTemporalProgram({ settings, log, signal });
  const temporal = await startTemporal({
    program,
    namespace,
    databaseFile: folder.temporalDatabase,
    port: ports.TEMPORAL_PORT,
    uiPort: ports.TEMPORAL_UI_PORT,
    logFile: folder.logs.temporal,
    onSpawn: (pid) => record('temporal', pid),
  });
  shutdown.add('temporal', temporal);
  watch('temporal', temporal);
  return temporal;
}

const loopback = '127.0.0.0/8,::1/128';

/**
 * Where requests to callers' URLs may go. On its own machine the stack reaches receivers on that machine, which production
 * refuses. With an API that other machines reach, this would let them reach what listens on loopback here.
 */
function egressSettings(given: Variables): Record<string, string> {
  const isOwn = [undefined, '', 'localhost', '127.0.0.1', '::1'].includes(given.HOST);
  const allowed = given.EGRESS_ALLOW_CIDRS || (isOwn && given.NODE_ENV !== 'production' ? loopback : undefined);
  const { EGRESS_PORTS, EGRESS_DENY_CIDRS } = given;
  const settings = { EGRESS_ALLOW_CIDRS: allowed, EGRESS_DENY_CIDRS, EGRESS_PORTS };
  return namedSettings(settings, Object.keys(settings));
}

/** The owner of a local installation operates it too, and sees the web UI of its Temporal server. */
const operatorSettings = (given: Variables, ownerEmail: string, uiUrl: string | undefined): Record<string, string> => ({
  OPERATOR_EMAILS: given.OPERATOR_EMAILS || ownerEmail,
  ...namedSettings({ TEMPORAL_UI_URL: given.TEMPORAL_UI_URL || uiUrl }, ['TEMPORAL_UI_URL']),
});

/** The variables that have a value. */
function namedSettings(given: Variables, names: readonly string[]): Record<string, string> {
  return Object.fromEntries(names.flatMap((name) => (given[name] ? [[name, given[name]] as const] : [])));
}

/** Where files are, for every process that works with the stack. */
function storageSettings(given: Variables, folder: DataFolder): Record<string, string> {
  const names = Object.keys(given).filter((name) => /^(STORAGE|S3|TOOLS)_/.test(name));
  return { STORAGE_DIR: folder.files, TOOLS_DIR: folder.tools, ...namedSettings(given, names) };
}

/** Secrets in the environment take precedence over those of the folder. */
function environmentOf({ settings, secrets, ports, folder }: Start, databaseUrl: string, temporalAddress: string) {
  const given = settings.parentEnvironment;
  return {
    DATABASE_URL: databaseUrl,
    TEMPORAL_ADDRESS: temporalAddress,
    PUBLIC_URL: settings.publicUrl ?? `http://127.0.0.1:${ports.PORT}`,
    SEALING_KEYS: given.SEALING_KEYS || secrets.SEALING_KEYS,
    URL_SIGNING_KEY: given.URL_SIGNING_KEY || secrets.URL_SIGNING_KEY,
    CRON_SECRET: given.CRON_SECRET || secrets.CRON_SECRET,
    ...namedSettings(given, ['NODE_ENV', 'PLAN_LIMITS', 'TEMPORAL_NAMESPACE', 'TEMPORAL_TLS', 'TEMPORAL_API_KEY']),
    ...storageSettings(given, folder),
    ...egressSettings(given),
  };
}
