import { homedir } from 'node:os';
import { join, resolve } from 'node:path';
import { z } from 'zod';
import {
  addressRanges,
  foreignKey,
  headers,
  httpUrl,
  isPort,
  list,
  port,
  sealingKeys,
  secret,
  split,
  tls,
  url,
} from './env-types.ts';

/**
 * The variables that every process reads, whatever features it has. A feature's part declares its own.
 * `.env.example` lists all of them; a test compares the two.
 */
const platformShape = {
  NODE_ENV: z.enum(['development', 'test', 'production']).default('development'),
  DATABASE_URL: url,
  DATABASE_POOL_SIZE: z.coerce.number().int().min(2).max(200).default(20),
  TEMPORAL_ADDRESS: z.string().regex(/^[^\s:]+:\d+$/, 'expected host:port'),
  TEMPORAL_NAMESPACE: z.string().min(1).default('default'),
  TEMPORAL_TLS: tls.optional(),
  TEMPORAL_API_KEY: foreignKey.optional(),
  TEMPORAL_TASK_QUEUE_PREFIX: z
    .string()
    .regex(/^[a-z0-9-]*$/)
    .default(''),
  PUBLIC_URL: url.default('http://127.0.0.1:3000'),
  HOST: z.string().min(1).default('127.0.0.1'),
  PORT: port.default(3000),
  SEALING_KEYS: sealingKeys.optional(),
  URL_SIGNING_KEY: secret.optional(),
  CRON_SECRET: secret.optional(),
  REQUEST_ARRIVAL_SECONDS: z.coerce.number().min(0.1).max(300).default(30),
  ANSWER_STALL_SECONDS: z.coerce.number().min(0.1).max(300).default(30),
  SYNC_WAIT_SECONDS: z.coerce.number().min(0).max(3600).default(300),
  DRAIN_NOTICE_SECONDS: z.coerce.number().min(0).max(60).default(0),
  COMMIT_SHA: z
    .string()
    .regex(/^[0-9a-f]{7,64}$/, 'expected a commit id in hexadecimal')
    .optional(),
  METRICS_HOST: z.string().min(1).default('127.0.0.1'),
  METRICS_PORT: z.union([z.literal('off'), port]).default(9464),
  SMTP_URL: z
    .string()
    .refine((text) => /^smtps?:$/.test(URL.parse(text)?.protocol ?? ''), 'expected smtp:// or smtps://')
    .optional(),
  MAIL_FROM: z.string().min(3).default('Atelier <atelier@localhost>'),
  MAIL_FOLDER: z.string().min(1).default('.atelier/mail'),
  TRUSTED_PROXIES: addressRanges.optional(),
  BROAD_RATE_MAX: z.coerce.number().int().min(1).optional(),
  BROAD_RATE_WINDOW_SECONDS: z.coerce.number().int().min(1).max(86_400).default(60),
  BROAD_RATE_BYPASS: list.prefault('/api/health,/api/ready,/api/admin/health'),
  EGRESS_PORTS: z
    .string()
    .refine((text) => split(text).every(isPort), 'expected ports separated by commas')
    .transform((text) => split(text).map(Number))
    .optional(),
  EGRESS_ALLOW_CIDRS: addressRanges.optional(),
  EGRESS_DENY_CIDRS: addressRanges.optional(),
  WORKER_AUTO_PROMOTE: z
    .enum(['true', 'false'])
    .default('true')
    .transform((value) => value === 'true'),
  WORKFLOW_BUNDLE_DIR: z.string().min(1).default('.atelier/bundles'),
  OTEL_EXPORTER_OTLP_ENDPOINT: httpUrl.optional(),
  OTEL_EXPORTER_OTLP_HEADERS: headers.optional(),
  OTEL_SERVICE_NAME: z.string().min(1).default('atelier'),
  OTEL_TRACES_SAMPLER_ARG: z.coerce.number().min(0).max(1).default(1),
  LOG_LEVEL: z.enum(['trace', 'debug', 'info', 'warn', 'error', 'silent']).default('info'),
  FAIL_POINT: z.string().optional(),
  ATTEMPT_TIME_SCALE: z.coerce.number().min(0.00001).max(1).optional(),
};

const platformSchema = z.object(platformShape);

/** Environment variables that a feature reads: their schemas by name, and which of them production refuses. */
export interface Settings<Shape extends z.ZodRawShape = z.ZodRawShape> {
  shape: Shape;
  refusedInProduction?: readonly (keyof Shape & string)[];
}

/** The parsed values of a feature's settings. */
export type SettingsOf<Shape extends z.ZodRawShape> = keyof Shape extends never ? object : z.infer<z.ZodObject<Shape>>;

/** The parsed values of the variables that every process reads. */
export type PlatformEnv = SettingsOf<typeof platformShape>;

/** Variables of the local stack: data folder, ports and programs. */
export const localSchema = z.object({
  ATELIER_DATA: z.string().min(1).default('.atelier'),
  PORT: port.default(3000),
  TEMPORAL_PORT: port.default(7233),
  TEMPORAL_UI_PORT: port.default(8233),
  POSTGRES_PORT: port.default(54329),
  TEMPORAL_CLI: z.string().min(1).optional(),
  DATABASE_URL: url.optional(),
  MIGRATION_DATABASE_URL: url.optional(),
  TEMPORAL_ADDRESS: z.string().optional(),
  PUBLIC_URL: url.optional(),
  XDG_CACHE_HOME: z.string().min(1).optional(),
});

/** Required in production. The strict health check requires them in every environment. */
export const requiredInProduction = ['SEALING_KEYS', 'URL_SIGNING_KEY', 'CRON_SECRET'] as const;
const platformSettings: Settings = {
  shape: platformShape,
  refusedInProduction: ['FAIL_POINT', 'ATTEMPT_TIME_SCALE', 'EGRESS_ALLOW_CIDRS'],
};

/** The names of every variable that a process with these settings reads. */
export const variableNames = (settings: readonly Settings[]): string[] =>
  [platformSettings, ...settings].flatMap(({ shape }) => Object.keys(shape));

/** Thrown for an invalid environment. The message has one line per invalid variable, without its value. */
export class EnvError extends Error {
  override name = 'EnvError';
}

export type Variables = Record<string, string | undefined>;

/** An empty variable counts as unset, as `NAME=` in an env file is meant. */
function parse<T extends z.ZodType>(schema: T, variables: Variables): z.infer<T> {
  const given = Object.fromEntries(
    Object.entries(variables).filter(([, value]) => value !== undefined && value !== ''),
  );
  const result = schema.safeParse(given);
  if (result.success) return result.data;
  const lines = result.error.issues.map((issue) => {
    const name = issue.path.join('.');
    return given[name] === undefined ? `  ${name}: is not set` : `  ${name}: ${issue.message}`;
  });
  throw new EnvError(`The environment is invalid:\n${lines.join('\n')}`);
}

/** @throws EnvError naming every variable that production lacks or refuses */
function checkProduction(env: PlatformEnv, settings: readonly Settings[]): void {
  const given = env as Record<string, unknown>;
  const refused = settings.flatMap(({ refusedInProduction = [] }) => refusedInProduction);
  const problems = [
    ...requiredInProduction.filter((name) => given[name] === undefined).map((name) => `  ${name}: is not set`),
    ...refused.filter((name) => given[name] !== undefined).map((name) => `  ${name}: is not allowed in production`),
  ];
  if (problems.length === 0) return;
  throw new EnvError(`The environment is invalid for NODE_ENV=production:\n${problems.join('\n')}`);
}

/**
 * Reads and checks the environment of a process, once, at its start.
 * @param settings of every part
 * @throws EnvError naming every invalid variable
 */
export function readEnv<Values>(
  settings: readonly Settings[],
  variables: Variables = process.env,
): PlatformEnv & Values {
  const all = [platformSettings, ...settings];
  const schema = z.object(Object.assign({}, ...all.map(({ shape }) => shape)));
  const env = parse(schema, variables) as PlatformEnv & Values;
  if (env.NODE_ENV === 'production') checkProduction(env, all);
  return env;
}

export interface LocalSettings {
  /** Absolute path of the folder with all state of the local stack. */
  dataFolder: string;
  port: number;
  temporalPort: number;
  temporalUiPort: number;
  postgresPort: number;
  databaseUrl?: string;
  /** The database URL of the login that owns the tables, where it is another one. */
  migrationUrl?: string;
  temporalAddress?: string;
  temporalCli?: string;
  publicUrl?: string;
  /** The user's cache folder. A downloaded or built Temporal CLI is stored in it. */
  cacheFolder: string;
  startedByNpm: boolean;
  parentEnvironment: Variables;
}

/** Settings of `npm start`. @throws EnvError naming every invalid variable. */
export function readLocalSettings(variables: Variables = process.env): LocalSettings {
  const local = parse(localSchema, variables);
  return {
    dataFolder: resolve(local.ATELIER_DATA),
    port: local.PORT,
    temporalPort: local.TEMPORAL_PORT,
    temporalUiPort: local.TEMPORAL_UI_PORT,
    postgresPort: local.POSTGRES_PORT,
    ...(local.DATABASE_URL && { databaseUrl: local.DATABASE_URL }),
    ...(local.MIGRATION_DATABASE_URL && { migrationUrl: local.MIGRATION_DATABASE_URL }),
    ...(local.TEMPORAL_ADDRESS && { temporalAddress: local.TEMPORAL_ADDRESS }),
    ...(local.TEMPORAL_CLI && { temporalCli: local.TEMPORAL_CLI }),
    ...(local.PUBLIC_URL && { publicUrl: local.PUBLIC_URL }),
    cacheFolder: local.XDG_CACHE_HOME ?? join(homedir(), '.cache'),
    startedByNpm: variables.npm_lifecycle_event !== undefined,
    parentEnvironment: variables,
  };
}

/** How a CLI command finds its servers: those of the environment, or of the running local stack. */
interface CliSettings {
  databaseUrl?: string;
  migrationUrl?: string;
  temporalAddress?: string;
  temporalNamespace: string;
  temporalTls?: string;
  temporalApiKey?: string;
  /** Written by the local stack while it runs. */
  connectionFile: string;
}

/** @throws EnvError naming every invalid variable. */
export function readCliSettings(variables: Variables = process.env): CliSettings {
  const localShape = localSchema.pick({ DATABASE_URL: true, MIGRATION_DATABASE_URL: true, ATELIER_DATA: true });
  const { DATABASE_URL, MIGRATION_DATABASE_URL, ATELIER_DATA } = parse(localShape, variables);
  const temporalSchema = platformSchema
    .pick({ TEMPORAL_ADDRESS: true, TEMPORAL_NAMESPACE: true, TEMPORAL_TLS: true, TEMPORAL_API_KEY: true })
    .partial({ TEMPORAL_ADDRESS: true });
  const { TEMPORAL_ADDRESS, TEMPORAL_NAMESPACE, TEMPORAL_TLS, TEMPORAL_API_KEY } = parse(temporalSchema, variables);
  return {
    temporalNamespace: TEMPORAL_NAMESPACE,
    ...(TEMPORAL_TLS && { temporalTls: TEMPORAL_TLS }),
    ...(TEMPORAL_API_KEY && { temporalApiKey: TEMPORAL_API_KEY }),
    ...(TEMPORAL_ADDRESS && { temporalAddress: TEMPORAL_ADDRESS }),
    ...(DATABASE_URL && { databaseUrl: DATABASE_URL }),
    ...(MIGRATION_DATABASE_URL && { migrationUrl: MIGRATION_DATABASE_URL }),
    connectionFile: join(resolve(ATELIER_DATA), 'connection.json'),
  };
}

/** For CLI commands. @throws EnvError when the keys are missing or malformed */
export function readSealingKeys(variables: Variables = process.env): string {
  const { SEALING_KEYS } = parse(platformSchema.pick({ SEALING_KEYS: true }).required(), variables);
  return SEALING_KEYS;
}

/** The same for commands that need the keys only where there is something to seal. */
export const readSealingKeysIfGiven = (variables: Variables = process.env): string | undefined =>
  parse(platformSchema.pick({ SEALING_KEYS: true }), variables).SEALING_KEYS;

/** The base of addresses that people open, for CLI commands. @throws EnvError when it is malformed */
export const readPublicUrl = (variables: Variables = process.env): string =>
  parse(platformSchema.pick({ PUBLIC_URL: true }), variables).PUBLIC_URL;

/** Which destinations callers' URLs may have, for CLI commands. @throws EnvError naming every invalid variable */
export const readGuardSettings = (variables: Variables = process.env) =>
  parse(
    platformSchema.pick({ NODE_ENV: true, EGRESS_PORTS: true, EGRESS_ALLOW_CIDRS: true, EGRESS_DENY_CIDRS: true }),
    variables,
  );

/** Values that must never appear in logs or traces. */
export const secretsOf = (env: PlatformEnv): string[] => {
  const { SEALING_KEYS, URL_SIGNING_KEY, CRON_SECRET, TEMPORAL_API_KEY, OTEL_EXPORTER_OTLP_HEADERS } = env;
  const headerValues = split(OTEL_EXPORTER_OTLP_HEADERS ?? '').map((pair) => pair.slice(pair.indexOf('=') + 1));
  const secrets = [
    ...(SEALING_KEYS?.split(',') ?? []),
    URL_SIGNING_KEY,
    CRON_SECRET,
    TEMPORAL_API_KEY,
    ...headerValues,
  ];
  return secrets.filter((value) => value !== undefined);
};

/** Settings of outgoing mail. */
export interface MailSettings {
  /** smtp:// or smtps://. Without it mails are written to files. */
  smtpUrl?: string;
  from: string;
  /** Folder of the `.eml` files. */
  folder: string;
}

export const mailSettings = ({ SMTP_URL, MAIL_FROM, MAIL_FOLDER }: PlatformEnv): MailSettings => ({
  from: MAIL_FROM,
  folder: resolve(MAIL_FOLDER),
  ...(SMTP_URL && { smtpUrl: SMTP_URL }),
});

/** For CLI commands. The default folder is the local stack's. @throws EnvError naming every invalid variable */
export function readMailSettings(variables: Variables = process.env): MailSettings {
  const { ATELIER_DATA } = parse(localSchema.pick({ ATELIER_DATA: true }), variables);
  const { SMTP_URL, MAIL_FROM } = parse(platformSchema.pick({ SMTP_URL: true, MAIL_FROM: true }), variables);
  return {
    from: MAIL_FROM,
    folder: resolve(variables.MAIL_FOLDER || join(ATELIER_DATA, 'mail')),
    ...(SMTP_URL && { smtpUrl: SMTP_URL }),
  };
}
