import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { startApp } from '../local/app-process.ts';
import type { RoleName } from '../workers/roles.ts';
import { secrets } from './operator.ts';
import { processEnvironment } from './product-process.ts';
import { optionsOfTests, type Servers } from './servers.ts';
import { createTestDatabase } from './test-database.ts';

/** With which the fake providers of the shared products sign what they send. */
export const inboundSecrets = {
  SLACK_SIGNING_SECRET: '8f742231b10e8888abcd99yyyzzz85a5',
  HUBSPOT_CLIENT_SECRET: 'the-client-secret-of-hubspot',
  UNIPILE_WEBHOOK_SECRET: 'the-secret-header-of-unipile',
};

/** Clients of integrations whose providers are not there. */
const integrationClients = {
  SLACK_CLIENT_ID: 'a-client-of-slack',
  SLACK_CLIENT_SECRET: 'its-secret-at-slack',
  HUBSPOT_CLIENT_ID: 'a-client-of-hubspot',
  UNIPILE_API_KEY: 'a-key-of-unipile',
  TEAMS_CLIENT_ID: 'a-client-of-teams',
  TEAMS_CLIENT_SECRET: 'its-secret-at-teams',
  ...inboundSecrets,
};

const narrowLimits = {
  free: { storageBytes: 60_000 },
  team: { operationsPerMinute: { tts: 1, stt: 1 } },
  enterprise: { openVoiceCalls: 1 },
};

/** The products that test files share which only need a tenant of their own. */
const kinds = {
  plain: {
    roles: ['api', 'runs', 'generation', 'calendars', 'integrations', 'housekeeping'],
    // Waits between attempts take milliseconds.
    env: { ...secrets, CALENDAR_TIME_SCALE: '0.001', ATTEMPT_TIME_SCALE: '0.02' },
  },
  /** Sends webhooks to this machine and fetches images from it too, and tries deliveries again twenty times as fast. */
  webhooks: {
    roles: ['api', 'runs', 'generation', 'calendars', 'integrations', 'housekeeping', 'webhooks'],
    env: {
      ...secrets,
      ...integrationClients,
      EGRESS_ALLOW_CIDRS: '127.0.0.0/8,::1/128',
      ATTEMPT_TIME_SCALE: '0.02',
      DELIVERY_TIME_SCALE: '0.05',
    },
  },
  /** Has limits of plans that a test reaches with a few requests. */
  narrow: {
    roles: ['api', 'runs', 'generation', 'housekeeping'],
    env: { ...secrets, PLAN_LIMITS: JSON.stringify(narrowLimits) },
  },
} satisfies Record<string, { roles: RoleName[]; env: Record<string, string> }>;

export type SharedProductName = keyof typeof kinds;

export const isSharedProductName = (name: string): name is SharedProductName => name in kinds;

/** Where a shared product is found. */
export interface RunningProduct {
  api: string;
  pid: number;
  databaseUrl: string;
  ownerUrl: string;
  taskQueuePrefix: string;
  logFile: string;
  /** What further processes of it need too. */
  env: Record<string, string>;
}

/** Somewhat less than a test waits: on a busy machine a start takes long, and all files that share it need it. */
const readyMs = 150_000;

/** Each is started when the first file asks for it and runs until all tests are over. */
export class SharedProducts {
  readonly #servers: ProductServers;
  readonly #started = new Map<SharedProductName, Promise<RunningProduct>>();

  constructor(servers: ProductServers) {
    this.#servers = servers;
  }

  find(name: SharedProductName): Promise<RunningProduct> {
    const product = this.#started.get(name) ?? this.#start(name);
    this.#started.set(name, product);
    // One that was not ready in time, as on a busy machine, is started anew for whoever asks next.
    product.catch(() => this.#started.delete(name));
    return product;
  }

  async #start(name: SharedProductName): Promise<RunningProduct> {
    const { url: databaseUrl, ownerUrl } = await createTestDatabase(this.#servers);
    const taskQueuePrefix = `shared-${name}-${randomBytes(4).toString('hex')}-`;
    const logFile = join(this.#servers.folder, `${name}.log`);
    const { roles, env } = kinds[name];
    const environment = processEnvironment({ databaseUrl, taskQueuePrefix, env }, this.#servers);
    const given = { roles, logFile, env: environment, options: optionsOfTests, readyMs };
    const { api, pid } = await startApp(given);
    return { api, pid, databaseUrl, ownerUrl, taskQueuePrefix, logFile, env };
  }
}

type ProductServers = Omit<Servers, 'sharedProductsUrl'>;
