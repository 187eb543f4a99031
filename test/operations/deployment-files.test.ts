import { existsSync, readFileSync } from 'node:fs';
import { describe, expect, test } from '@jest/globals';
import { parse } from 'yaml';
import { variableNames } from '../../src/platform/env.ts';
import { catalog } from '../../src/services.ts';
import { isRoleName, roleNames } from '../../workers/roles.ts';

const root = new URL('../../', import.meta.url);
const read = (path: string) => readFileSync(new URL(path, root), 'utf8');

interface Service {
  image: string;
  command?: string[];
  entrypoint?: string[];
  environment?: Record<string, string>;
  depends_on?: Record<string, { condition: string }>;
  volumes?: string[];
  healthcheck?: object;
}

const compose: { services: Record<string, Service>; volumes: Record<string, unknown> } = parse(
  read('docker-compose.yml'),
  { merge: true },
);
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
      'migrate',
      'api',
      'worker',
      'webhooks',
      'housekeeping',
    ];
    expect(Object.keys(compose.services)).toEqual(names);
  });

  test('starts programs and roles that exist', () => {
    expect(own).toHaveLength(5);
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
      const known = variableNames(catalog.settings);
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
      if (!image.startsWith('atelier:')) expect(image).toMatch(/:\d/);
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

test('Temporal’s dynamic configuration is the one the local stack starts with', () => {
  const inFile = parse(read('deploy/temporal-dynamic-config.yaml')) as Record<string, [{ value: unknown }]>;
  const local = [...read('local/temporal-server.ts').matchAll(/'([a-zA-Z.]+)=([\w"]+)',/g)]
    .map(([, name, value]) => [name!, JSON.parse(value!)] as const)
    .filter(([name]) => name.includes('.'));
  expect(Object.fromEntries(Object.entries(inFile).map(([name, [{ value }]]) => [name, value]))).toEqual(
    Object.fromEntries(local),
  );
});

test('the Dockerfile is Debian slim, as the native bridge needs, and copies what exists', () => {
  const dockerfile = read('Dockerfile');
  const bases = [...dockerfile.matchAll(/^FROM (\S+)/gm)].map(([, image]) => image);
  expect(bases.every((image) => image === 'node:24-bookworm-slim')).toBe(true);
  for (const [, script] of dockerfile.matchAll(/node ([\w/-]+\.ts)/g))
    expect(existsSync(new URL(script!, root))).toBe(true);
});
